"""Handmade silver and its ledger, for tests of gold that need no binary log.

A transaction's LSN is `1 << 40 | n * 1000` for the n-th; its events follow at 100, 200, ….
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from datetime import datetime, timedelta, timezone
from typing import Any

import pyarrow as pa

from decoder import TableDefinition, TypeOptions
from decoder.constants import ColumnType
from decoder.model.definition import ColumnDefinition
from pipeline.lake import Lake, Ledger
from pipeline.lake.delta_log.model import LakeTable
from pipeline.lake.delta_step import Step
from pipeline.lake.lazy_spark import Spark, started
from pipeline.lake.sql_text import in_sql
from pipeline.lake.tables.choice import tables_of
from pipeline.schema_history import TableName
from pipeline.schema_history.alter.items import ColumnStep, ItemKind, TimelineItem
from pipeline.schema_history.ddl.model import TableModel
from pipeline.schema_history.timeline.stored_timeline import append_items
from pipeline.settings import Settings
from pipeline.silver.decode.silver_tables import (
    changes_table,
    committer,
    quarantine_table,
    transactions_table,
)
from pipeline.silver.plan.batch_plan import SilverPlan

SOURCE = "made"
SERVER = "3e11fa47-71ca-11e1-9e33-c80aa9429562"
START = datetime(2024, 1, 1, tzinfo=timezone.utc)

Image = tuple[Any, ...]
Row = tuple[TableDefinition, int, str, Image | None, Image | None]
"""Definition, silver version, operation, before, after."""


def lsn(n: int) -> int:
    """Return the LSN of the n-th transaction."""
    return 1 << 40 | n * 1000


def definition(
    table: str = "t", *columns: ColumnDefinition, key: Sequence[int] = (0,), schema: str = "shop"
) -> TableDefinition:
    """Return a table definition, by default of `id INT NOT NULL, v VARCHAR(20)`."""
    default = (
        ColumnDefinition("id", ColumnType.LONG, nullable=False),
        ColumnDefinition("v", ColumnType.VARCHAR, length=80, length_bytes=1, collation=255),
    )
    return TableDefinition(schema, table, columns or default, tuple(key), tuple(0 for _ in key))


@dataclass(slots=True)
class MadeTransaction:
    """The n-th transaction: `rows` in order, one event each."""

    n: int
    rows: list[Row] = field(default_factory=list)
    rolled_back: list[tuple[int, int]] | None = None
    committed: bool = True
    xa: tuple[str, str] | None = None
    """The id of an XA transaction, and what this transaction does to it."""
    cascades: str | None = "unlogged"
    """Silver's record of cascades by foreign keys."""
    partial: dict[int, dict[str, Any]] = field(default_factory=dict)
    """By row number: silver's additional columns for incomplete images."""

    def insert(self, table: TableDefinition, *image: Any, version: int = 1) -> MadeTransaction:
        """Log an insert."""
        self.rows.append((table, version, "insert", None, image))
        return self

    def update(
        self, table: TableDefinition, before: Image, after: Image, version: int = 1
    ) -> MadeTransaction:
        """Log an update."""
        self.rows.append((table, version, "update", before, after))
        return self

    def delete(self, table: TableDefinition, *image: Any, version: int = 1) -> MadeTransaction:
        """Log a delete."""
        self.rows.append((table, version, "delete", image, None))
        return self

    def partly(
        self,
        before: Sequence[str] = (),
        after: Sequence[str] = (),
        diff: dict[str, str] | None = None,
    ) -> MadeTransaction:
        """Omit these columns from the last row's images, or replace them by JSON diffs."""
        self.partial[len(self.rows) - 1] = {
            "__absent_before": list(before) or None,
            "__absent_after": list(after) or None,
            "__json_diff": list(diff.items()) if diff else None,
        }
        return self


def item(
    kind: ItemKind,
    n: int,
    table: TableDefinition,
    version: int = 1,
    *,
    pos: int = 50,
    defaults: dict[str, str | None] | None = None,
    reason: str | None = None,
    columns: Sequence[ColumnStep] | None = None,
    other: TableDefinition | None = None,
    model: TableModel | None = None,
) -> TimelineItem:
    """Add a catalog item to the n-th transaction, by default before its rows."""
    bare = kind in ("drop", "unsupported", "truncate", "moved", "keys", "model")
    return TimelineItem(
        lsn(n),
        lsn(n) % (1 << 40) + pos,
        table.schema,
        table.table,
        kind,
        None if bare else version,
        None if bare else table,
        defaults,
        f"{kind} {table}",
        reason,
        None if columns is None else tuple(columns),
        model,
        None if other is None else TableName(other.schema, other.table),
    )


class MadeSilver:
    """Writes batches of silver into a lake, each as a finished batch of the ledger."""

    def __init__(self, spark: Spark, lake: str) -> None:
        self.spark = spark
        self.lake = Lake(lake)
        self.batches = 0

    def batch(
        self,
        transactions: Iterable[MadeTransaction] = (),
        items: Sequence[TimelineItem] = (),
        faults: Sequence[tuple[int, Sequence[str] | None]] = (),
        last: int = 0,
        kind: str = "undecodable",
    ) -> None:
        """Write a batch: `faults` are (n, tables), of a `kind`; `last` is its last transaction's
        number.
        """
        self.batches += 1
        made = list(transactions)
        append_items(self.spark, self.lake, SOURCE, self.batches, items)
        self._changes(made)
        self._transactions(made)
        self._faults(faults, kind)
        ledger = Ledger(self.spark, self.lake, SOURCE)
        conf = Settings(source=SOURCE).decoding
        last_lsn = lsn(last or max(t.n for t in made))
        body = SilverPlan(start=(1, 4), end=(1, 4), last_lsn=last_lsn, conf=conf).to_body()
        plan = ledger.propose("silver", body)
        ledger.finish(plan, {})

    def resolve(self) -> None:
        """Mark every fault as resolved."""
        started(self.spark).sql(f"UPDATE {in_sql(self.lake.quarantine)} SET resolved_batch = 1")

    def _changes(self, transactions: list[MadeTransaction]) -> None:
        tables: dict[tuple[TableDefinition, int], list[dict[str, Any]]] = defaultdict(list)
        for made in transactions:
            for n, (table, version, op, before, after) in enumerate(made.rows):
                names = [column.name for column in table.columns]
                tables[table, version].append(
                    {
                        **_header(made, n, op),
                        **made.partial.get(n, {}),
                        "before": dict(zip(names, before, strict=True)) if before else None,
                        "after": dict(zip(names, after, strict=True)) if after else None,
                    }
                )
        for (table, version), rows in tables.items():
            changes = changes_table(self.lake, table, version, TypeOptions())
            self._append(changes, rows, f"{table}/{version}")

    def _transactions(self, transactions: list[MadeTransaction]) -> None:
        rows = [_transaction(made) for made in transactions]
        self._append(transactions_table(self.lake), rows, "transactions")

    def _faults(self, faults: Sequence[tuple[int, Sequence[str] | None]], kind: str) -> None:
        rows = [
            {
                "source": SOURCE,
                "batch": self.batches,
                "__lsn": lsn(n),
                "__pos": lsn(n) % (1 << 40),
                "file": "binlog.000001",
                "kind": kind,
                "tables": tables,
                "reason": "it is damaged",
                "ordinal": 1,
                "start_pos": 4,
            }
            for n, tables in faults
        ]
        self._append(quarantine_table(self.lake), rows, "quarantine")

    def _append(self, table: LakeTable, rows: list[dict[str, Any]], app: str) -> None:
        step = Step(f"silver/{app}", self.batches)
        by = committer(self.spark, tables_of(self.spark, self.lake), table)
        by.append(table, pa.Table.from_pylist(rows, schema=table.schema), step)


def _header(made: MadeTransaction, n: int, op: str) -> dict[str, Any]:
    return {
        "__op": op,
        "__lsn": lsn(made.n),
        "__pos": lsn(made.n) % (1 << 40) + 100 * (n + 1),
        "__row": 0,
        "__committed_at": START + timedelta(seconds=made.n),
        "__gtid": f"{SERVER}:{made.n}",
        "__server_id": 1,
        "__file": "binlog.000001",
    }


def _transaction(made: MadeTransaction) -> dict[str, Any]:
    counts: dict[str, int] = defaultdict(int)
    for table, *_ in made.rows:
        counts[str(table)] += 1
    start = lsn(made.n) % (1 << 40)
    return {
        "source": SOURCE,
        "__lsn": lsn(made.n),
        "file": "binlog.000001",
        "start_pos": start,
        "end_pos": start + 1000,
        "gtid": f"{SERVER}:{made.n}",
        "committed_at": START + timedelta(seconds=made.n),
        "rows": list(counts.items()),
        "bytes": 1000,
        "commit_lsn": lsn(made.n) if made.committed and not _is_prepared(made) else None,
        "cascades": made.cascades if made.rows else None,
        "xa": made.xa[0] if made.xa else None,
        "xa_end": made.xa[1] if made.xa else None,
        "rolled_back": [
            {"start": start + first, "end": start + last} for first, last in made.rolled_back or []
        ]
        or None,
    }


def _is_prepared(made: MadeTransaction) -> bool:
    return made.xa is not None and made.xa[1] == "prepare"
