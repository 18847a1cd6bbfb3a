"""The checksum and row count of each gold table, at the cut that was published last."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from fnmatch import fnmatchcase
from typing import Any

from pyspark.sql import DataFrame, SparkSession

from pipeline.catalog import TableName
from pipeline.catalog.alter.items import NOT_OF_GOLD, TimelineItem, in_force
from pipeline.catalog.timeline.definitions import read_items
from pipeline.errors import BinlakeError, ConcurrentRunError, SettingsError
from pipeline.gold import Cut, GoldState
from pipeline.gold.plan.rebuild import refresh_under_way
from pipeline.gold.table.names import gold_name
from pipeline.gold.table.state import TableState
from pipeline.lake import Ledger, delta
from pipeline.lake.child_sessions import own_session
from pipeline.lake.ledger.ledger import Plan
from pipeline.observe.progress import Task
from pipeline.settings import Settings
from pipeline.verify.canonical import checksum
from pipeline.verify.chunks import WHOLE, Chunking, ChunkSum, together
from pipeline.verify.gold_table import GoldColumn, chunk_sums, gold_columns, sums

BATCH = {"spark.sql.execution.arrow.maxRecordsPerBatch": "1000"}
"""Rows may be large: this many of them, with their texts, are in a worker's memory at once."""


@dataclass(frozen=True, slots=True)
class GoldTable:
    """A gold table at the published cut: where that has it, and its Delta version."""

    state: TableState
    version: int
    frame: DataFrame
    columns: Sequence[GoldColumn]

    @property
    def name(self) -> TableName:
        """The source's table."""
        return self.state.name


@dataclass(frozen=True, slots=True)
class TableChecksum:
    """What a table comes to: `checksum` is the sum of its rows' hashes, in hexadecimal.

    `held`, `complete` and `dropped` are of the cut: gold equals the source's table there if it is
    complete and not held; a table that the source dropped is kept as it was.
    """

    schema: str
    table: str
    rows: int
    checksum: str
    version: int
    held: bool
    complete: bool
    dropped: bool


@dataclass(frozen=True, slots=True)
class PublishedCut:
    """The cut that a source's gold was brought to last, with its tables that are there."""

    source: str
    lsn: int
    gtid_set: str | None
    tables: tuple[GoldTable, ...]
    held: frozenset[TableName]
    patterns: tuple[str, ...]
    """Over `schema.table`: only these tables are looked at, all if there is none."""


def published_cut(
    spark: SparkSession,
    settings: Settings,
    patterns: Sequence[str] = (),
    *,
    batch: int | None = None,
) -> PublishedCut:
    """The cut in the record of gold's last batch, or of a `batch`; `patterns` over `schema.table`
    choose tables.

    Raises SettingsError where the source has none.
    """
    ledger = Ledger(spark, settings.layout, settings.source)
    last = require_published(settings, ledger)
    known = last, ledger.record("gold") or {}
    done = known if batch is None else ledger.finished("gold", batch)
    if done is None:
        reason = f"Batch {batch} of gold is not in the ledger of {settings.lake} any more."
        raise BinlakeError(reason, remedy="Was it removed meanwhile? Run it again.")
    state, cut = GoldState.after(*done), Cut.of(done[1])
    told = in_force(read_items(spark, settings.layout, settings.source))
    items = [item for item in told if item.kind not in NOT_OF_GOLD]
    session = own_session(spark, BATCH)
    chosen = [
        entry
        for entry in cut.tables
        if entry["delta_version"] is not None
        and matches(name := TableName(entry["schema"], entry["table"]), patterns)
        # What is there is not what the cut names, or cannot be read.
        and state.tables[name].damage is None
    ]

    def gold_table(entry: Mapping[str, Any]) -> GoldTable:
        table = state.tables[TableName(entry["schema"], entry["table"])]
        return _gold_table(session, settings, table, entry["delta_version"], items)

    held = frozenset(TableName(e["schema"], e["table"]) for e in cut.tables if e["held"])
    tables = _at_once(settings, gold_table, chosen)
    return PublishedCut(
        settings.source, state.cut_lsn, cut.gtid_set, tuple(tables), held, tuple(patterns)
    )


def require_published(settings: Settings, ledger: Ledger) -> Plan:
    """Gold's last batch, whose cut is published.

    Raises SettingsError where there is none, and ConcurrentRunError while a full refresh is under
    way.
    """
    last = ledger.last("gold")
    if last is None:
        remedy = "Give the source's name, and the folder that binlake run was given."
        reason = f"{settings.source} has no published cut in {settings.lake}."
        raise SettingsError(reason, key="source", remedy=remedy)
    if refresh_under_way(ledger):
        reason = f"a full refresh of {settings.source} is under way."
        remedy = "Run binlake run to its end first; the cut of before stays readable until then."
        raise ConcurrentRunError(reason, remedy=remedy)
    return last


@dataclass(frozen=True, slots=True)
class SummedTable:
    """What a table comes to, and each of the chunks that it was asked in."""

    told: TableChecksum
    chunks: Mapping[int, ChunkSum]


def checksums(
    settings: Settings, cut: PublishedCut, chunkings: Mapping[TableName, Chunking], task: Task
) -> list[SummedTable]:
    """What every table of the cut comes to, in order of names; several are read at a time.

    `chunkings`: how those that are compared are parted; `task` counts tables.
    """

    def summed(table: GoldTable) -> SummedTable:
        chunking = chunkings.get(table.name, WHOLE)
        found = _checksum(table, chunking, held=table.name in cut.held)
        task.advance()
        return found

    return _at_once(settings, summed, cut.tables)


def _checksum(table: GoldTable, chunking: Chunking, *, held: bool) -> SummedTable:
    chunks = chunk_sums(sums(table.frame, table.columns, chunking))
    rows, total = together(chunks)
    told = TableChecksum(
        table.state.schema,
        table.state.table,
        rows,
        checksum(total),
        table.version,
        held,
        table.state.complete,
        table.state.dropped,
    )
    return SummedTable(told, chunks)


def _gold_table(
    spark: SparkSession,
    settings: Settings,
    state: TableState,
    version: int,
    items: Iterable[TimelineItem],
) -> GoldTable:
    # A table that was dropped is kept as it was.
    defined = [
        item
        for item in items
        if item.name == state.name and item.lsn <= state.to_lsn and item.definition is not None
    ]
    item = max(defined, key=lambda item: item.position, default=None)
    if item is None or item.definition is None:
        raise BinlakeError(
            f"The definition of {state.name} is not in the lake's ledger.",
            remedy="Was it removed? Without it, types cannot be told.",
        )
    frame = delta.read(spark, gold_name(settings, state.schema, state.table), version=version)
    return GoldTable(state, version, frame, gold_columns(frame.schema, item.definition))


def matches(name: TableName, patterns: Sequence[str]) -> bool:
    """Whether one of the patterns over `schema.table` is of this table, or there is none."""
    return not patterns or any(fnmatchcase(str(name), pattern) for pattern in patterns)


def _at_once(
    settings: Settings, function: Callable[[Any], Any], values: Iterable[Any]
) -> list[Any]:
    with ThreadPoolExecutor(settings.parallel_tables) as pool:
        return list(pool.map(function, values))
