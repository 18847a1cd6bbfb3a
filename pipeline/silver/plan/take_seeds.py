"""Decide which of the lake's seeds a batch of silver adds to the timeline, and which wait.

A seed is used by the first batch that ends after its last position, so that silver has every logged
change of its rows. Its item is at the end of that batch.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from decoder import TableDefinition
from pipeline.bronze.executed_gtids import log_base
from pipeline.bronze.tables import FileRow
from pipeline.schema_history import TableName, Timeline
from pipeline.schema_history.alter.items import SeededFrom, TimelineItem, in_force
from pipeline.schema_history.ddl.ddl import StatementContext, effects
from pipeline.schema_history.ddl.effects import CreateTable
from pipeline.schema_history.timeline.logged_statement import LoggedStatement
from pipeline.schema_history.timeline.seed_items import NotSeededError, UnloggedTypesError
from pipeline.settings import Settings
from pipeline.silver.decode.decode import OFFSET_BITS
from pipeline.silver.decode.segment_refs import FilePosition, log_number
from pipeline.silver.plan.stored_seeds import LogCoordinates, Seed, newest, refuse_seed
from pipeline.source import GtidSet
from pipeline.source.server.create_statements import CreateStatements
from pipeline.source.server.log_position import BEGINNING
from pipeline.source.server.version import server_number

SEED_NOT_NEEDED = (
    "the table was re-created or emptied after it was read: the log has all of its rows"
)
AGAIN = "Seed the table again: binlake seed --table {name}."
_CATCH_UP = "It is used once binlake run has decoded the log up to there"
_FROM_FILES_BEGINNING = (
    " (without GTIDs, an initial snapshot is valid from the start of the log file in which it was"
    " begun; with --consistent, from the position where it was read)"
)


ReadFromServer = Seed | CreateStatements
"""Rows or definitions that were read from a server between two positions of its log."""


@dataclass(frozen=True, slots=True)
class SilverReached:
    """Silver's progress after a batch: its last transaction, its position, and the known files.

    `all_of_bronze`: it has reached the end of bronze. `removed` is the LSN before which maintenance
    has removed changes.
    """

    last_lsn: int
    end: FilePosition
    files: Sequence[FileRow]
    all_of_bronze: bool
    removed: int = 0

    def first_file(self, seed: ReadFromServer) -> FileRow | None:
        """Return the file of a seed's (or reading's) first position, or None if the lake lacks it.

        File names may repeat, after RESET or on another server. Raises NotSeededError if it cannot
        be determined which file it is.
        """
        named = [row for row in self.files if row.file == seed.first[0]]
        if seed.server_id is None or seed.at is None:
            if len(named) > 1:
                file = seed.first[0]
                raise NotSeededError(
                    f"the lake has several files {file}, and the snapshot does not record its"
                    " server"
                )
            return named[0] if named else None
        at, server = seed.at, seed.server_id
        own = [row for row in named if row.server_id == server and row.begun <= at]
        return own[-1] if own else None

    def last_file(self, seed: ReadFromServer, first: FileRow) -> FileRow | None:
        """Return the file of its last position, in the same log as the first.

        That file may have begun while the seed was read. After RESET, a file of that name has other
        changes.
        """
        return next(
            (
                row
                for row in self.files
                if row.file == seed.last[0]
                and row.ordinal >= first.ordinal
                and log_base(row) == log_base(first)
            ),
            None,
        )

    def continues_elsewhere(self, first: FileRow) -> bool:
        """Return True if the file's server has begun another log since."""
        return any(
            row.ordinal > first.ordinal
            and row.server_id == first.server_id
            and log_base(row) != log_base(first)
            for row in self.files
        )

    def has_passed(self, row: FileRow, place: LogCoordinates) -> bool:
        """Return True if every transaction before the position is in silver."""
        return (row.ordinal, place[1]) <= self.end or (
            self.all_of_bronze and row.ingested_upto >= place[1]
        )

    def precedes_all(self, place: LogCoordinates) -> bool:
        """Return True if the lake lacks this file and has only later ones."""
        number = log_number(place[0])
        return bool(self.files) and all(log_number(row.file) > number for row in self.files)


@dataclass(frozen=True, slots=True)
class TakenSeeds:
    """Items of the seeds that are used, and sentences.

    `faults` are about refused seeds, `notes` about seeds that wait or are not needed.
    """

    items: tuple[TimelineItem, ...] = ()
    notes: tuple[str, ...] = ()
    faults: tuple[str, ...] = ()


def waiting(settings: Settings, items: Iterable[TimelineItem]) -> list[Seed]:
    """Return the seeds of replicated tables that are not in the timeline yet.

    Raises SeedUnreadableError.
    """
    taken = {item.seed.id for item in items if item.seed}
    found = newest(settings.layout, settings.source, taken)
    return [seed for seed in found if settings.wanted(seed.schema, seed.table)]


def definitions(seeds: Iterable[Seed]) -> dict[TableName, TableDefinition]:
    """Return the definitions of seeded tables from their CREATE TABLE."""
    found: dict[TableName, TableDefinition] = {}
    for seed in seeds:
        number, mariadb = server_number(seed.server)
        session = StatementContext(seed.schema, seed.sql_mode, number, mariadb=mariadb)
        for effect in effects(seed.query, session):
            if isinstance(effect, CreateTable):
                found[seed.name] = effect.definition
    return found


def take(
    settings: Settings,
    seeds: Iterable[Seed],
    timeline: Timeline,
    past: Sequence[TimelineItem],
    reached: SilverReached,
) -> TakenSeeds:
    """Return the items of the seeds that silver has passed; `past` is the earlier timeline."""
    items: list[TimelineItem] = []
    notes: list[str] = []
    faults: list[str] = []
    known = sorted(in_force([*past, *timeline.new]), key=lambda item: item.position)
    for seed in seeds:
        try:
            item = _taken(settings, seed, timeline, known, reached)
        except (UnloggedTypesError, _WaitsError) as error:
            notes.append(f"The initial snapshot of {seed.name} is waiting: {error}.")
        except NotSeededError as error:
            reason = f"{error}{_FROM_FILES_BEGINNING if _is_unsettled(seed) else ''}"
            faults.append(refused_seed(seed.name, reason))
            refuse_seed(settings.layout, settings.source, seed.id, reason)
        else:
            if item is None:
                refuse_seed(settings.layout, settings.source, seed.id, SEED_NOT_NEEDED)
                notes.append(
                    f"The initial snapshot of {seed.name} is not needed: {SEED_NOT_NEEDED}."
                )
            items += [item] if item else []
    return TakenSeeds(tuple(items), tuple(notes), tuple(faults))


def refused_seed(name: TableName, reason: str) -> str:
    """Return the sentence about a refused seed."""
    return (
        f"The initial snapshot of {name} cannot be used: {reason}. Gold does not use it."
        f" {AGAIN.format(name=name)}"
    )


def _is_unsettled(seed: Seed) -> bool:
    """Return True if the first position is only the start of a file.

    See `pipeline.source.server.log_position`.
    """
    return not seed.exact and not seed.gtids and seed.first[1] == BEGINNING


class _WaitsError(ValueError):
    """A seed may be used later; the message says why, without a final period."""


def _taken(
    settings: Settings,
    seed: Seed,
    timeline: Timeline,
    items: Sequence[TimelineItem],
    reached: SilverReached,
) -> TimelineItem | None:
    lsn = _begun(settings, seed, reached) - 1
    number, mariadb = server_number(seed.server)
    at = LoggedStatement(
        reached.last_lsn,
        0,
        seed.query,
        seed.schema,
        sql_mode=seed.sql_mode,
        server_version=number,
        mariadb=mariadb,
    )
    logged = settings.foreign_keys_logged is True or seed.cascades_logged
    quiet = seed.exact and lsn >= reached.last_lsn
    rows = SeededFrom(seed.id, lsn, seed.exact)
    return timeline.seed(at, rows, items, all_logged=logged or quiet)


def _begun(settings: Settings, seed: Seed, reached: SilverReached) -> int:
    """Return the LSN of the seed's first position. Raises NotSeededError, _WaitsError."""
    made = settings.decoding["types"]
    if seed.types is not None and dict(seed.types) != made:
        raise NotSeededError(f"its values were read with types {dict(seed.types)}, not {made}")
    if reached.precedes_all(seed.first):
        raise NotSeededError(f"the lake lacks {seed.first[0]}, in which it was started")
    first = reached.first_file(seed)
    last = reached.last_file(seed, first) if first else None
    if first and last is None and reached.continues_elsewhere(first):
        raise NotSeededError(f"the log was reset, and the lake lacks {seed.last[0]}")
    if first is None or last is None or not reached.has_passed(last, seed.last):
        of = "" if seed.server_id is None else f" of the server with server_id {seed.server_id}"
        place = f"{seed.last[0]}:{seed.last[1]}{of}"
        raise _WaitsError(f"the lake has not reached {place} yet. {_CATCH_UP}")
    if not reached.last_lsn:
        raise _WaitsError("the lake has no transaction yet. It is used after the first one")
    lsn = first.ordinal << OFFSET_BITS | seed.first[1]
    if lsn < reached.removed:
        raise NotSeededError("binlake maintain removed later changes from silver")
    _require_all_executed(seed, [row for row in reached.files if row.ordinal < first.ordinal])
    return lsn


def _require_all_executed(seed: Seed, before: Iterable[FileRow]) -> None:
    """Raise NotSeededError if the seed lacks transactions before its position in the lake.

    Its server may have lagged behind the one whose log is earlier in the lake.
    """
    if not seed.gtids:
        return
    executed = GtidSet.of(seed.gtids)
    lacking = GtidSet.of(*(row.gtids for row in before)) - executed
    if lacking:
        raise NotSeededError(f"its server had not executed {_shortened(str(lacking))} yet")


def _shortened(text: str, longest: int = 200) -> str:
    return text if len(text) <= longest else f"{text[:longest]}…"
