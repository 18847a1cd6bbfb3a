"""The status of a lake, from the ledger: last batch of each layer, freshness and lag of each
source, every table and all problems."""

from __future__ import annotations

import glob
import json
import shlex
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from datetime import datetime, timedelta, timezone
from typing import Any, Literal

from pipeline.bronze import read_files
from pipeline.bronze.continuity import gaps
from pipeline.bronze.executed_gtids import log_base
from pipeline.bronze.newest_file import InputAge
from pipeline.gold import GoldState
from pipeline.gold.changes.drift import Drift
from pipeline.gold.changes.faults import in_words, open_faults
from pipeline.gold.changes.holds import OpenFault
from pipeline.gold.plan.rebuild import BEING_BUILT, GONE, progress
from pipeline.gold.table.incomplete import incomplete_after_seed
from pipeline.gold.table.names import gold_name
from pipeline.lake import Lake, Ledger
from pipeline.lake.lazy_spark import Spark
from pipeline.lake.ledger.ledger import Entry
from pipeline.lake.ledger.ledger_table import FINISHED, PLANNED
from pipeline.lake.ledger.run_record import Outcome, RunRecord
from pipeline.lake.ledger.run_store import last_runs
from pipeline.observe import redact
from pipeline.observe.report import NewestFile
from pipeline.run.totals import cut_of
from pipeline.schema_history import TableName
from pipeline.schema_history.alter.items import TimelineItem, in_force
from pipeline.schema_history.timeline.stored_timeline import read_items
from pipeline.settings import Settings
from pipeline.silver.plan.new_segments import new_segments
from pipeline.silver.plan.progress import silver_progress
from pipeline.source.capture.capture_status import CaptureStatus, read_capture_status

LAYERS = ("bronze", "silver", "gold", "maintenance")
UNMAINTAINED = timedelta(days=2)
"""Time without maintenance that counts as a problem: maintenance makes Delta keep the versions that
published snapshots name."""

TableCondition = Literal["held", "dropped", "incomplete", "drifted", "equal"]


@dataclass(frozen=True, slots=True)
class TableStatus:
    """A replicated table: its gold path or name, its LSN, and its problems.

    `lsn`: gold equals the source's table at this LSN if `complete`. `faults`: open faults of the
    table, or 1 if its definition holds it. `held`: no further change is applied until the cause,
    `reason`, is fixed. `named`: the names of its columns are known. `drift`: changes that did not
    find the row that the log has as their before image (see `pipeline.gold.changes.drift`).
    `remedy`: the commands that complete an incomplete table.
    """

    source: str
    schema: str
    table: str
    gold: str
    lsn: int
    faults: int
    held: bool
    complete: bool
    dropped: bool
    named: bool
    reason: str | None
    drift: int = 0
    remedy: str | None = None

    @property
    def name(self) -> TableName:
        """The source's table."""
        return TableName(self.schema, self.table)

    @property
    def state(self) -> TableCondition:
        """The table's condition in one word; `equal`: to the source's table, at its LSN."""
        if self.held:
            return "held"
        if self.dropped:
            return "dropped"
        if not self.complete:
            return "incomplete"
        return "drifted" if self.drift else "equal"


@dataclass(frozen=True, slots=True)
class LastRun:
    """The last run that has ended; `binlake runs` shows its whole record."""

    run_id: str
    command: str
    started_at: datetime
    finished_at: datetime
    outcome: Outcome
    exit_code: int
    error: str | None


@dataclass(frozen=True, slots=True)
class SourceStatus:
    """The freshness and lag of a source's gold, and its last run.

    Gold has what the source committed up to `committed_at`, published at `published_at`.

    `lag_seconds`: from `committed_at` to `published_at`. `age_seconds`: from `committed_at` to now,
    which also grows while nothing is committed on the source. All are None until something is
    published. `refresh`: progress of a full refresh that is under way. `gtid_set`: transactions in
    gold, as the server writes them; None without GTIDs and during a full refresh. `overdue`: a
    sentence if maintenance, last finished at `maintained_at`, is overdue.
    """

    source: str
    cut_lsn: int | None
    committed_at: datetime | None
    published_at: datetime | None
    lag_seconds: float | None
    age_seconds: float | None
    last_run: LastRun | None
    refresh: str | None = None
    gtid_set: str | None = None
    maintained_at: datetime | None = None
    overdue: str | None = None


@dataclass(frozen=True, slots=True)
class Status:
    """The content of `binlake status`; `problems`: sentences about files, gaps, faults and seeds.

    `capture`: that of the settings, None if they have none.
    """

    lake: str
    layers: tuple[Entry, ...]
    tables: tuple[TableStatus, ...]
    problems: tuple[str, ...]
    sources: tuple[SourceStatus, ...] = ()
    capture: CaptureStatus | None = None

    @property
    def clean(self) -> bool:
        """True if there is no problem and no table is held."""
        return not self.problems and not any(table.held for table in self.tables)

    def to_json(self) -> str:
        """Return the status as one JSON object, times in ISO 8601."""
        document = {
            **asdict(self),
            "tables": [
                {**asdict(table), "reason": redact.value(table.reason)} for table in self.tables
            ],
            "problems": redact.value(self.problems),
        }
        return json.dumps(document, default=datetime.isoformat, ensure_ascii=False)


def read_status(spark: Spark, settings: Settings, only: str | None = None) -> Status:
    """Read the lake's ledger, files and quarantine; write nothing. `only`: a single source."""
    lake = settings.layout
    entries = Ledger(spark, lake, only or "").last_entries()
    known = {entry.source for entry in entries}
    ended = [run for run in last_runs(spark, lake) if only in (None, run.source)]
    runs = {run.source: run for run in ended}
    now = datetime.now(timezone.utc)
    sources: list[SourceStatus] = []
    tables: list[TableStatus] = []
    problems: list[str] = []
    for source in sorted(runs.keys() - known):
        sources.append(source_status(source, None, runs[source], now))
        if not known:
            # In a lake with other sources, the name may be a typo in a single run.
            problems.append(f"{source}: nothing has been ingested yet; `binlake runs` shows why.")
    for source in sorted(known):
        faults = sorted(open_faults(spark, lake, source), key=lambda fault: fault.lsn)
        ledger = Ledger(spark, lake, source)
        state = GoldState.of(ledger)
        record = ledger.record("gold")
        refresh = progress(ledger)
        maintained_at = last_maintained(ledger)
        sources.append(
            replace(
                source_status(source, record, runs.get(source), now, refresh),
                maintained_at=maintained_at,
                overdue=overdue(ledger, maintained_at, now),
            )
        )
        drifts = (record or {}).get("drift", {})
        unnamed = _unnamed(in_force(read_items(spark, lake, source)))
        tables += [
            replace(
                _table(settings, source, state, name, faults, named=name not in unnamed),
                drift=Drift.of(drifts.get(str(name))).found,
            )
            for name in sorted(state.tables)
        ]
        if source == settings.source:
            problems += stale_input(ended, settings, now)
        given_up = settings.given_up if source == settings.source else ()
        problems += _missing(spark, ledger, lake, source, given_up)
        problems += in_words(faults)
        problems += incomplete_after_seed(lake, source, state, settings.wanted)
    return Status(
        settings.lake,
        tuple(_layers(entries)),
        tuple(tables),
        tuple(problems),
        tuple(sorted(sources, key=lambda status: status.source)),
        read_capture_status(settings, now),
    )


def source_status(
    source: str,
    record: Mapping[str, Any] | None,
    run: RunRecord | None,
    now: datetime,
    refresh: str | None = None,
) -> SourceStatus:
    """Return the status from gold's last record in the ledger and the last run's record."""
    record = record or {}
    cut, published = cut_of(record), record.get("published") or record
    committed_at, published_at = cut["cut_committed_at"], cut["published_at"]
    return SourceStatus(
        source=source,
        cut_lsn=cut["cut_lsn"],
        committed_at=committed_at,
        published_at=published_at,
        lag_seconds=_seconds(committed_at, published_at),
        age_seconds=_seconds(committed_at, now),
        last_run=_last(run) if run else None,
        refresh=refresh,
        gtid_set=(published.get("cut") or {}).get("gtid_set"),
    )


def stale_input(ended: Iterable[RunRecord], settings: Settings, now: datetime) -> Iterator[str]:
    """Yield a sentence if the newest file that the last ingest saw is older than `stale`."""
    own = [run for run in ended if run.source == settings.source and run.newest_file_at]
    for run in own[-1:]:
        if run.newest_file is not None and run.newest_file_at is not None:
            newest = NewestFile(run.newest_file, run.newest_file_at)
            yield from InputAge(newest, settings.stale).faults(now)


def last_maintained(ledger: Ledger) -> datetime | None:
    """Return when maintenance of the ledger's source was last finished; None if it never was."""
    last = ledger.last("maintenance")
    return None if last is None else ledger.time_of("maintenance", last.batch, FINISHED)


def overdue(ledger: Ledger, maintained_at: datetime | None, now: datetime) -> str | None:
    """Return a sentence if maintenance is overdue, since it last ran or since the first ingest.

    Nothing else would show that it is paused, or not scheduled.
    """
    since = maintained_at or ledger.time_of("bronze", 1, PLANNED) or now
    if now - since <= UNMAINTAINED:
        return None
    return (
        f"{ledger.source} has not been maintained for {(now - since).days} days; published"
        " snapshots may become unreadable: schedule binlake maintain daily, or unpause its DAG."
    )


def _seconds(start: datetime | None, end: datetime | None) -> float | None:
    return None if start is None or end is None else (end - start).total_seconds()


def _last(run: RunRecord) -> LastRun:
    known = {name: getattr(run, name) for name in LastRun.__dataclass_fields__}
    return LastRun(**{**known, "error": redact.value(run.error)})


def _layers(entries: Sequence[Entry]) -> Iterator[Entry]:
    """Yield each layer's last batch, in order of source and of the flow of data."""
    latest = {(entry.source, entry.layer): entry for entry in entries}
    for source in sorted({entry.source for entry in entries}):
        for layer in LAYERS:
            if entry := latest.get((source, layer)):
                yield entry


def _unnamed(items: Iterable[TimelineItem]) -> set[TableName]:
    """Return the tables whose last definition has no column names."""
    last = {item.name: item.definition for item in items if item.definition is not None}
    return {name for name, definition in last.items() if not definition.named}


def _table(
    settings: Settings,
    source: str,
    state: GoldState,
    name: TableName,
    faults: Sequence[OpenFault],
    *,
    named: bool,
) -> TableStatus:
    table = state.tables[name]
    held, building = state.holds(table), state.rebuild.under_way
    incomplete = not (table.complete or table.dropped or building)
    return TableStatus(
        source=source,
        schema=table.schema,
        table=table.table,
        gold=gold_name(settings, table.schema, table.table),
        lsn=table.to_lsn,
        faults=max(sum(_touches(fault, name) for fault in faults), int(held is not None)),
        held=held is not None,
        complete=table.complete,
        dropped=table.dropped,
        named=named,
        reason=held or (BEING_BUILT if building and table.reason == GONE else table.reason),
        remedy=seeding(settings.lake, source, name) if incomplete and held is None else None,
    )


def seeding(lake: str, source: str, name: TableName | None = None) -> str:
    """Return a sentence with the commands that load a table, or all incomplete tables."""
    table = (
        [] if name is None else ["--table", ".".join(map(glob.escape, (name.schema, name.table)))]
    )
    seed = shlex.join(["binlake", "seed", "--source", source, "--lake", lake, *table])
    rows = "its rows" if name else "their rows"
    return f"{seed} reads {rows} from the server, and binlake run loads them."


def _touches(fault: OpenFault, name: TableName) -> bool:
    return fault.names(name) or (fault.tables is None and not fault.marks_only)


def _missing(
    spark: Spark, ledger: Ledger, lake: Lake, source: str, given_up: Collection[int]
) -> Iterator[str]:
    """Yield sentences about damaged files, and about gaps that silver waits at."""
    files = read_files(spark, lake, source)
    yield from (row.fault for row in files if row.fault)
    before = silver_progress(ledger).plan
    found = list(gaps(files, given_up, before.end[0] if before else 0))
    if any(log_base(row) != log_base(files[0]) for row in files):
        # In the logs of several servers, gaps follow from their transactions.
        new = new_segments(spark, lake, source, before, given_up)
        found += [gap for gap in new.gaps if gap not in found]
    yield from found
