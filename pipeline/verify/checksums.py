"""Compute the checksum and row count of each gold table at a published snapshot."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import Any

from pyspark.sql import DataFrame, SparkSession

from pipeline.errors import BinlakeError, ConcurrentRunError, NothingReplicatedError
from pipeline.gold import Cut, GoldState
from pipeline.gold.plan.rebuild import refresh_under_way
from pipeline.gold.table.names import gold_name
from pipeline.gold.table.state import TableState
from pipeline.lake import delta
from pipeline.lake.child_sessions import child_session
from pipeline.lake.ledger.ledger import Plan
from pipeline.layer import LayerRun
from pipeline.schema_history import TableName
from pipeline.schema_history.alter.items import KINDS_IGNORED_BY_GOLD, TimelineItem, in_force
from pipeline.schema_history.timeline.stored_timeline import read_items
from pipeline.settings import Settings
from pipeline.settings.settings import matches
from pipeline.verify.canonical import checksum
from pipeline.verify.chunks import WHOLE, Chunking, ChunkSum, table_sum
from pipeline.verify.gold_table import GoldColumn, chunk_sums, gold_columns, sums

BATCH = {"spark.sql.execution.arrow.maxRecordsPerBatch": "1000"}
"""Rows may be large: limits how many of them, with their texts, a worker holds in memory."""


@dataclass(frozen=True, slots=True)
class PublishedTable:
    """A gold table at the published snapshot: its state there, Delta version, rows and columns."""

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
    """A table's row count and checksum, the sum of its rows' hashes in hexadecimal.

    `held`, `complete` and `dropped` are as of the snapshot: gold equals the source's table there if
    it is complete and not held. A table that the source dropped keeps its last rows.
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
class VerifiedSnapshot:
    """A published snapshot of a source's gold, with its tables."""

    source: str
    lsn: int
    gtid_set: str | None
    tables: tuple[PublishedTable, ...]
    held: frozenset[TableName]
    patterns: tuple[str, ...]
    """Patterns over `schema.table` that choose the tables; empty for all."""


def published_snapshot(
    run: LayerRun, patterns: Sequence[str] = (), *, batch: int | None = None
) -> VerifiedSnapshot:
    """Return the snapshot that gold's last batch, or `batch`, published.

    `patterns` over `schema.table` choose tables. Raises as `require_published`.
    """
    ledger, settings = run.ledger, run.settings
    ledger.refresh()
    last = require_published(run)
    known = last, ledger.record("gold") or {}
    done = known if batch is None else ledger.finished("gold", batch)
    if done is None:
        reason = f"Batch {batch} of gold is no longer in the ledger of {settings.lake}."
        raise BinlakeError(reason, remedy="If maintenance removed it meanwhile, run verify again.")
    state, cut = GoldState.after(*done), Cut.of(done[1])
    valid = in_force(read_items(run.spark, run.lake, run.source))
    items = [item for item in valid if item.kind not in KINDS_IGNORED_BY_GOLD]
    session = child_session(run.session, BATCH)
    chosen = [
        entry
        for entry in cut.tables
        if entry["delta_version"] is not None
        and matches(str(name := TableName(entry["schema"], entry["table"])), patterns)
        # A damaged table is not the one in the snapshot, or cannot be read.
        and state.tables[name].damage is None
    ]

    def gold_table(entry: Mapping[str, Any]) -> PublishedTable:
        table = state.tables[TableName(entry["schema"], entry["table"])]
        return _gold_table(session, settings, table, entry["delta_version"], items)

    held = frozenset(TableName(e["schema"], e["table"]) for e in cut.tables if e["held"])
    with ThreadPoolExecutor(settings.parallel_tables) as pool:
        tables = tuple(pool.map(gold_table, chosen))
    return VerifiedSnapshot(run.source, state.cut_lsn, cut.gtid_set, tables, held, tuple(patterns))


def require_published(run: LayerRun) -> Plan:
    """Return gold's last batch, whose snapshot is published.

    Raises NothingReplicatedError if there is none, and ConcurrentRunError during a full refresh.
    """
    last = run.ledger.last("gold")
    if last is None:
        reason = (
            f"there is nothing to verify yet: gold has no published snapshot of {run.source} in"
            f" {run.settings.lake}."
        )
        remedy = "Run binlake run first; if it has run, give its --source and --lake."
        raise NothingReplicatedError(reason, key="source", remedy=remedy)
    if refresh_under_way(run.ledger):
        reason = f"a full refresh of {run.source} is under way."
        remedy = (
            "Finish it with binlake run first; the previous snapshot stays readable until then."
        )
        raise ConcurrentRunError(reason, remedy=remedy)
    return last


@dataclass(frozen=True, slots=True)
class SummedTable:
    """The row count and checksum of a table, and of each of its chunks."""

    total: TableChecksum
    chunks: Mapping[int, ChunkSum]


def checksums(
    run: LayerRun, snapshot: VerifiedSnapshot, chunkings: Mapping[TableName, Chunking]
) -> list[SummedTable]:
    """Compute the checksums of the snapshot's tables, in order of names, several in parallel.

    `chunkings`: the chunks of tables that are compared.
    """
    with run.progress.task("computing gold's checksums", len(snapshot.tables), "tables") as task:

        def summed(table: PublishedTable) -> SummedTable:
            chunking = chunkings.get(table.name, WHOLE)
            found = _checksum(table, chunking, held=table.name in snapshot.held)
            task.advance()
            return found

        with ThreadPoolExecutor(run.settings.parallel_tables) as pool:
            return list(pool.map(summed, snapshot.tables))


def _checksum(table: PublishedTable, chunking: Chunking, *, held: bool) -> SummedTable:
    chunks = chunk_sums(sums(table.frame, table.columns, chunking))
    rows, hashes = table_sum(chunks)
    total = TableChecksum(
        table.state.schema,
        table.state.table,
        rows,
        checksum(hashes),
        table.version,
        held,
        table.state.complete,
        table.state.dropped,
    )
    return SummedTable(total, chunks)


def _gold_table(
    spark: SparkSession,
    settings: Settings,
    state: TableState,
    version: int,
    items: Iterable[TimelineItem],
) -> PublishedTable:
    # A dropped table keeps its last definition.
    defined = [
        item
        for item in items
        if item.name == state.name and item.lsn <= state.to_lsn and item.definition is not None
    ]
    item = max(defined, key=lambda item: item.position, default=None)
    if item is None or item.definition is None:
        raise BinlakeError(
            f"The definition of {state.name} is missing from the lake's ledger, without which the"
            " types of its columns cannot be determined.",
            remedy="Check whether rows were removed from ledger/definitions, and restore them.",
        )
    frame = delta.read(spark, gold_name(settings, state.schema, state.table), version=version)
    return PublishedTable(state, version, frame, gold_columns(frame.schema, item.definition))
