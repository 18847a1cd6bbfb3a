"""Taking seeds: which of the lake's seeds a batch of silver puts into the timeline, and which wait.

A seed is taken by the first batch that ends behind its last place, so that all is in silver that
the log says of its rows. Its item stands at the end of that batch.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from pipeline.bronze.files import FileRow
from pipeline.catalog.effects import TableName
from pipeline.catalog.items import SeededFrom, TimelineItem, in_force
from pipeline.catalog.logged import LoggedStatement
from pipeline.catalog.seeded import NotSeededError
from pipeline.catalog.timeline import Timeline
from pipeline.server.version import server_number
from pipeline.settings import Settings
from pipeline.silver.decode import OFFSET_BITS
from pipeline.silver.seeds import LogPlace, Seed, newest
from pipeline.silver.segments import Mark

AGAIN = "Seed it again: binlake seed --table {name}."


@dataclass(frozen=True, slots=True)
class Reached:
    """Where silver is behind a batch: its last transaction, its mark, and the files that it knows.

    `all_of_bronze`: it has come to the end of what bronze has. `removed`: the LSN before which
    maintenance has removed changes.
    """

    cut_lsn: int
    end: Mark
    files: Sequence[FileRow]
    all_of_bronze: bool
    removed: int = 0

    def lsn(self, place: LogPlace) -> int | None:
        """The LSN of a place in the log, if the lake has that file of it."""
        row = self._file(place)
        return None if row is None else row.ordinal << OFFSET_BITS | place[1]

    def is_behind(self, place: LogPlace) -> bool:
        """Whether every transaction before the place is in silver."""
        row = self._file(place)
        if row is None:
            return False
        return (row.ordinal, place[1]) <= self.end or (
            self.all_of_bronze and row.ingested_upto >= place[1]
        )

    def is_before_all(self, place: LogPlace) -> bool:
        """Whether the lake has no such file, and later ones."""
        return self._file(place) is None and any(
            _number(row.file) > _number(place[0]) for row in self.files
        )

    def _file(self, place: LogPlace) -> FileRow | None:
        # A name may come again, after RESET: the last one counts.
        return next((row for row in reversed(self.files) if row.file == place[0]), None)


@dataclass(frozen=True, slots=True)
class Taken:
    """Items for the seeds that are taken, and sentences about those that cannot be, or wait."""

    items: tuple[TimelineItem, ...] = ()
    notes: tuple[str, ...] = ()


def waiting(settings: Settings, items: Iterable[TimelineItem]) -> list[Seed]:
    """The seeds of replicated tables that the timeline does not have yet.

    Raises SeedUnreadableError.
    """
    taken: dict[TableName, str] = {}
    for item in items:
        if item.seed:
            taken[item.name] = max(item.seed.id, taken.get(item.name, ""))
    found = newest(settings.layout, settings.source, taken)
    return [seed for seed in found if settings.wanted(seed.schema, seed.table)]


def take(
    settings: Settings,
    seeds: Iterable[Seed],
    timeline: Timeline,
    past: Sequence[TimelineItem],
    reached: Reached,
) -> Taken:
    """The items of the seeds that silver is behind; `past`: the timeline before the batch."""
    items: list[TimelineItem] = []
    notes: list[str] = []
    known = sorted(in_force([*past, *timeline.new]), key=lambda item: item.position)
    for seed in seeds:
        try:
            item = _taken(settings, seed, timeline, known, reached)
        except NotSeededError as error:
            again = AGAIN.format(name=seed.name)
            notes.append(f"The seed of {seed.name} is not taken: {error}. {again}")
        except _WaitsError as error:
            notes.append(f"The seed of {seed.name} waits: {error}.")
        else:
            items += [item] if item else []
    return Taken(tuple(items), tuple(notes))


class _WaitsError(ValueError):
    """A seed may be taken later; says why as a clause."""


def _taken(
    settings: Settings,
    seed: Seed,
    timeline: Timeline,
    items: Sequence[TimelineItem],
    reached: Reached,
) -> TimelineItem | None:
    lsn = _begun(settings, seed, reached)
    number, mariadb = server_number(seed.server)
    at = LoggedStatement(
        reached.cut_lsn,
        0,
        seed.query,
        seed.schema,
        sql_mode=seed.sql_mode,
        server_version=number,
        mariadb=mariadb,
    )
    told = settings.foreign_keys_logged is True or seed.cascades_logged
    quiet = seed.exact and lsn >= reached.cut_lsn
    rows = SeededFrom(seed.id, lsn, seed.exact)
    return timeline.seed(at, rows, items, all_logged=told or quiet)


def _begun(settings: Settings, seed: Seed, reached: Reached) -> int:
    """The LSN right before the seed's first place. Raises NotSeededError, _WaitsError."""
    made = settings.decoding["types"]
    if seed.types is not None and dict(seed.types) != made:
        raise NotSeededError(f"its values were read with types {dict(seed.types)}, not {made}")
    for place in (seed.first, seed.last):
        if reached.is_before_all(place):
            raise NotSeededError(f"the lake has not got {place[0]}, where it was begun")
    first = reached.lsn(seed.first)
    if first is None or not reached.is_behind(seed.last):
        raise _WaitsError(f"the lake has not come to {seed.last[0]}:{seed.last[1]}")
    if not reached.cut_lsn:
        raise _WaitsError("the lake has no transaction yet")
    if first < reached.removed:
        raise NotSeededError("changes behind it were removed from silver by binlake maintain")
    return first - 1


def _number(file: str) -> int:
    number = file.rpartition(".")[2]
    return int(number) if number.isdigit() else 0
