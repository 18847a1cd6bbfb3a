"""The one way to the tables of bronze, silver and the ledger: look up, and commit steps.

Two implementations keep the same promises, and the same tests: delta-rs's, for what this process
reaches by path (`native`), and Spark's, for tables that a catalog has or that are on another
machine (`by_spark`). Every commit asks `pipeline.lake.locks.lease_guard` and holds
`pipeline.lake.locks.lock` first, and carries its step's transaction identifier, which is looked up
before: a step is done once, by whichever run.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Protocol

import pyarrow as pa

from pipeline.lake.delta_log.conditions import Condition
from pipeline.lake.delta_log.table import Commit, DataFile, LakeTable, Step, TableState
from pipeline.lake.layout import Lake

FILE = "__filename"
"""The column of `read` with the name of the data file that has the row, in its table's folder."""


@dataclass(frozen=True, slots=True)
class Change:
    """A new value of a column, as SQL, and as a function of the rows that are changed."""

    column: str
    sql: str
    values: Callable[[pa.Table], pa.Array | pa.ChunkedArray]


def constant(column: str, value: int) -> Change:
    """The column gets this number."""
    return Change(
        column, str(value), lambda rows: pa.repeat(pa.scalar(value, pa.int64()), len(rows))
    )


class Tables(Protocol):
    """The tables of one lake. Each function returns once its step is done, by whom makes no
    difference; raises ConcurrentRunError where other writers never let it, LakeLostError where
    another run has, or may have, the lake, UnreachableError where its store refuses.

    Functions that commit return False where this call surely committed nothing: the step was done
    before, or there was nothing to do. By delta-rs True means that this call committed; Spark does
    not tell, and True is what is returned.
    """

    @property
    def lake(self) -> Lake:
        """Where they are."""

    def exists(self, table: LakeTable) -> bool:
        """Whether anything was ever committed to it."""

    def read(
        self,
        table: LakeTable,
        where: Condition | None = None,
        columns: Sequence[str] | None = None,
        *,
        with_file: bool = False,
    ) -> pa.Table:
        """Its rows now, in no order, with its schema's columns or some of them, and `FILE` if asked
        for; none where there is no table. What files' statistics exclude is not read. Each column
        has a chunk, be it an empty one."""

    def last(
        self, table: LakeTable, by: str, each: Sequence[str], count: int, where: Condition
    ) -> pa.Table:
        """Of each group of rows that `where` means and that have the same values in the columns
        `each`, those with its `count` greatest values of `by`; whole rows, in no order.

        All these columns, and those of `where`, are of `table.statistics` or `table.partition_by`;
        rows in which one of `each`, or `by`, is null count for nothing. From files of one row each
        no other rows are read.
        """

    def count(self, table: LakeTable, where: Condition) -> int:
        """How many rows a condition means; none where there is no table."""

    def folder(self, table: LakeTable) -> str:
        """Where tasks write files that `add` is given: the table's own folder, or a new one in the
        lake's scratch space, which `add` removes."""

    def append(self, table: LakeTable, rows: pa.Table, step: Step | None) -> bool:
        """Add rows as a step, or, without one, always; creates the table where there is none.

        Without rows only that: a step of none is not remembered. A table that has no rows gets the
        columns of `table.schema` that it lacks.

        Returns whether this call committed them: False where the step was done before.
        """

    def add(
        self, table: LakeTable, files: Sequence[DataFile], rest: pa.Table | None, step: Step
    ) -> bool:
        """The same of files that tasks have written for it, and of `rest`, which is too little for
        files of their own. Files whose step is done already are no part of the table."""

    def replace(self, table: LakeTable, where: Condition, rows: pa.Table, step: Step) -> bool:
        """Put `rows`, which `where` means too, in the place of those that it means, in one commit;
        creates the table where there is none. Partitions that go whole are not read."""

    def delete(self, table: LakeTable, where: Condition, step: Step) -> bool:
        """Remove rows, in bounded memory; those of which nulls leave the condition unknown stay."""

    def update(
        self, table: LakeTable, where: Condition, changes: Sequence[Change], step: Step
    ) -> bool:
        """Change rows, in bounded memory: each change sees them as they were before all."""

    def clear(self, table: LakeTable, step: Step) -> bool:
        """Remove all rows and give the table `table.schema`, which may be another than it has."""

    def claim(self, table: LakeTable, step: Step) -> bool:
        """Do a step that commits nothing, so that it is done for whoever comes to it late; creates
        the table where there is none."""

    def state(self, table: LakeTable) -> TableState | None:
        """The table as its log has it; None where there is none. This, `history` and `old_files`
        are answered for gold's tables, too."""

    def history(self, table: LakeTable, limit: int | None) -> Sequence[Commit]:
        """The last commits, or all that the log has, the latest first."""

    def old_files(self, table: LakeTable) -> int:
        """How many files `vacuum` would remove now."""

    def compact(self, table: LakeTable, note: str) -> bool:
        """Put files together that are smaller than they should be, in bounded memory: rows stay as
        they are. `note`: see `Step`."""

    def vacuum(self, table: LakeTable, note: str) -> bool:
        """Remove files that no version within the table's retention has: those that commits have
        removed, and those that were written and never committed. What is younger stays."""
