"""A ledger in memory, for tests of planning."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, cast

import pyarrow as pa

from pipeline.lake import Lake, Ledger
from pipeline.lake.delta_log.conditions import Condition
from pipeline.lake.delta_log.model import LakeTable
from pipeline.lake.delta_step import Step
from pipeline.lake.ledger.ledger import Plan
from pipeline.lake.ledger.ledger_table import Layer
from pipeline.lake.tables.tables import Tables


@dataclass
class MemoryTables:
    """The part of `Tables` that a ledger uses, in memory; several runs may share it."""

    lake: Lake
    kept: dict[str, pa.Table] = field(default_factory=dict)
    done: dict[str, int] = field(default_factory=lambda: defaultdict(int))

    def read(
        self,
        table: LakeTable,
        where: Condition | None = None,
        columns: Sequence[str] | None = None,
    ) -> pa.Table:
        """See `Tables.read`."""
        rows = self.kept.get(table.reference, table.schema.empty_table())
        found = rows if where is None else rows.filter(where.expression)
        return found if columns is None else found.select(list(columns))

    def last(
        self, table: LakeTable, by: str, each: Sequence[str], count: int, where: Condition
    ) -> pa.Table:
        """See `Tables.last`."""
        groups: dict[tuple[Any, ...], list[Mapping[str, Any]]] = defaultdict(list)
        for row in self.read(table, where).to_pylist():
            groups[tuple(row[name] for name in each)].append(row)
        last = []
        for rows in groups.values():
            ends = sorted({row[by] for row in rows})[-count:]
            last += [row for row in rows if row[by] in ends]
        return pa.Table.from_pylist(last, schema=table.schema)

    def append(self, table: LakeTable, rows: pa.Table, step: Step | None) -> bool:
        """See `Tables.append`."""
        if step is not None:
            if self.done[step.app] >= step.version:
                return False
            self.done[step.app] = step.version
        self.kept[table.reference] = pa.concat_tables([self.read(table), rows])
        return True


class MemoryLedger(Ledger):
    """Plans and records in memory, shared between ledgers as runs share a table."""

    def __init__(self, shared: MemoryTables | None = None) -> None:
        self.shared = shared or MemoryTables(Lake("/lake"))
        super().__init__(None, self.shared.lake, "shop", _tables=cast(Tables, self.shared))

    def did(self, layer: Layer, body: dict[str, Any], record: dict[str, Any] | None = None) -> Plan:
        """Add a batch: its plan and its record."""
        plan = self.propose(layer, body)
        self.finish(plan, record or {})
        return plan
