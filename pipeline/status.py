"""Where a lake stands: its layers' last batches and every table, from what the runs recorded."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass
from datetime import datetime

from pyspark.sql import SparkSession, functions as sf

from pipeline import delta
from pipeline.catalog.effects import TableName
from pipeline.gold.names import gold_name
from pipeline.gold.state import GoldState
from pipeline.lake import Lake
from pipeline.ledger import Entry, Ledger
from pipeline.settings import Settings

LAYERS = ("bronze", "silver", "gold")


@dataclass(frozen=True, slots=True)
class TableStatus:
    """A replicated table: where its gold is, up to which LSN, and whether anything is amiss.

    `lsn`: gold equals the source's table at this LSN if `complete`; `faults`: open faults that
    touch it; `held`: it is not applied further until a fault is fixed, `reason` says why.
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
    reason: str | None


@dataclass(frozen=True, slots=True)
class LayerStatus:
    """A layer's last batch: planned (under way, or killed and to be finished) or finished."""

    source: str
    layer: str
    batch: int
    state: str
    at: datetime


@dataclass(frozen=True, slots=True)
class Status:
    """All that `binlake status` shows; `problems` are sentences about files, gaps and the cut."""

    lake: str
    layers: tuple[LayerStatus, ...]
    tables: tuple[TableStatus, ...]
    problems: tuple[str, ...]

    def to_json(self) -> str:
        """The same as one JSON object, times in ISO 8601."""
        return json.dumps(asdict(self), default=datetime.isoformat, ensure_ascii=False)


@dataclass(frozen=True, slots=True)
class _Fault:
    """An open fault; `tables` is None where it cannot be known which tables it touches."""

    tables: frozenset[str] | None
    sentence: str


def read_status(spark: SparkSession, settings: Settings) -> Status:
    """Read the lake's ledger, files and quarantine; writes nothing."""
    lake = Lake(settings.lake)
    entries = Ledger(spark, lake, "").history()
    tables: list[TableStatus] = []
    problems: list[str] = []
    for source in sorted({entry.source for entry in entries}):
        faults = _open_faults(spark, lake, source)
        plan = Ledger(spark, lake, source).last("gold")
        state = GoldState.from_body(plan.body) if plan else GoldState()
        tables += [_table(settings, source, state, name, faults) for name in sorted(state.tables)]
        problems += [state.cut_held] if state.cut_held else []
        problems += [*_damaged_files(spark, lake, source), *(fault.sentence for fault in faults)]
    return Status(settings.lake, tuple(_layers(entries)), tuple(tables), tuple(problems))


def _layers(entries: Sequence[Entry]) -> Iterator[LayerStatus]:
    """The last entry of each layer, in order of source and data."""
    latest = {(entry.source, entry.layer): entry for entry in entries}
    for source in sorted({entry.source for entry in entries}):
        for layer in LAYERS:
            if entry := latest.get((source, layer)):
                yield LayerStatus(source, layer, entry.batch, entry.state, entry.at)


def _table(
    settings: Settings, source: str, state: GoldState, name: TableName, faults: Sequence[_Fault]
) -> TableStatus:
    table = state.tables[name]
    held = state.holds(table)
    return TableStatus(
        source=source,
        schema=table.schema,
        table=table.table,
        gold=gold_name(settings, table.schema, table.table),
        lsn=table.to_lsn,
        faults=sum(fault.tables is None or str(name) in fault.tables for fault in faults),
        held=held is not None,
        complete=table.complete,
        dropped=table.dropped,
        reason=held or table.reason,
    )


def _open_faults(spark: SparkSession, lake: Lake, source: str) -> list[_Fault]:
    if not delta.exists(spark, lake.quarantine):
        return []
    mine = (sf.col("source") == source) & sf.col("resolved_batch").isNull()
    rows = delta.read(spark, lake.quarantine).where(mine).orderBy("file", "__pos")
    return [
        _Fault(
            None if row["tables"] is None else frozenset(row["tables"]),
            f"{row['file']}, position {row['__pos']}: {row['reason']}",
        )
        for row in rows.select("file", "__pos", "tables", "reason").collect()
    ]


def _damaged_files(spark: SparkSession, lake: Lake, source: str) -> list[str]:
    if not delta.exists(spark, lake.files):
        return []
    rows = delta.read(spark, lake.files).where(sf.col("source") == source)
    return [row["fault"] for row in rows.where(sf.col("fault").isNotNull()).collect()]
