"""The interface to the tables of bronze, silver and the ledger: read rows and commit steps.

Two implementations keep the same contract, and pass the same tests: by delta-rs, for tables that
this process can access by path (`native`), and by Spark, for tables in a catalog or on another
machine (`by_spark`). Every commit checks `pipeline.lake.locks.lease`, holds
`pipeline.lake.locks.lock`, and carries its step's transaction identifier, which is looked up first:
a step is committed once, by whichever run.
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
"""The column of `read` with the name of the row's data file, relative to the table's folder."""


@dataclass(frozen=True, slots=True)
class Change:
    """A new value for a column, as SQL and as a function of the rows to change."""

    column: str
    sql: str
    values: Callable[[pa.Table], pa.Array | pa.ChunkedArray]


def constant(column: str, value: int) -> Change:
    """Return the change that sets a column to a number."""
    return Change(
        column, str(value), lambda rows: pa.repeat(pa.scalar(value, pa.int64()), len(rows))
    )


class Tables(Protocol):
    """The tables of one lake.

    Each method returns once its step is committed, no matter by which run. Raises
    ConcurrentRunError after too many conflicts with other writers, LakeLostError if this run lost
    its lease on the lake, or may have, UnreachableError if the store fails.

    Methods that commit return False if this call certainly committed nothing: the step was already
    committed, or there was nothing to do. With delta-rs, True means that this call committed; Spark
    does not report it, so True is returned.
    """

    @property
    def lake(self) -> Lake:
        """The layout of the lake."""

    def exists(self, table: LakeTable) -> bool:
        """Return True if the table has a commit."""

    def read(
        self,
        table: LakeTable,
        where: Condition | None = None,
        columns: Sequence[str] | None = None,
        *,
        with_file: bool = False,
    ) -> pa.Table:
        """Return the table's current rows, in no particular order, with all or some of the schema's
        columns, and `FILE` if `with_file`; no rows if the table does not exist. Files are skipped
        by their statistics. Each column has at least one chunk, which may be empty."""

    def last(
        self, table: LakeTable, by: str, each: Sequence[str], count: int, where: Condition
    ) -> pa.Table:
        """Return the rows with the `count` greatest values of `by` in each group; whole rows, in no
        particular order. Groups are the rows matching `where` with the same values of `each`.

        All these columns, and those of `where`, must be in `table.statistics` or
        `table.partition_by`; rows with null in `by` or one of `each` are ignored. Of single-row
        files, only the rows returned are read.
        """

    def count(self, table: LakeTable, where: Condition) -> int:
        """Return the number of rows matching a condition; 0 if the table does not exist."""

    def folder(self, table: LakeTable) -> str:
        """Return the folder in which tasks write files for `append`: the table's own, or a new one
        in the lake's scratch space, which `append` removes."""

    def append(
        self,
        table: LakeTable,
        rows: pa.Table | None,
        step: Step | None,
        files: Sequence[DataFile] = (),
    ) -> bool:
        """Append rows as a step, or unconditionally without one; creates the table if necessary.

        `files`: what tasks have written, to be appended too; `rows` are then those that were too
        few for files. If the step was already committed, the files do not become part of the table.

        Without either it only creates the table: such a step is not recorded. An empty table gets
        the columns of `table.schema` that it lacks.

        Returns True if this call committed the rows, False if the step was already committed.
        """

    def replace(self, table: LakeTable, where: Condition, rows: pa.Table, step: Step) -> bool:
        """Replace the rows matching `where` by `rows`, which must match it too, in one commit;
        creates the table if necessary. Partitions that match as a whole are not read."""

    def delete(self, table: LakeTable, where: Condition, step: Step) -> bool:
        """Delete rows, in bounded memory; rows for which nulls make the condition unknown stay."""

    def update(
        self, table: LakeTable, where: Condition, changes: Sequence[Change], step: Step
    ) -> bool:
        """Update rows, in bounded memory; each change sees the rows before all changes."""

    def clear(self, table: LakeTable, step: Step) -> bool:
        """Remove all rows and set the schema to `table.schema`, which may differ from before."""

    def claim(self, table: LakeTable, step: Step) -> bool:
        """Commit a step without rows, so that it counts as done for a run that is late; creates the
        table if necessary."""

    def state(self, table: LakeTable) -> TableState | None:
        """Return the table's state by its log; None if it does not exist. This, `history` and
        `old_files` also work for gold's tables."""

    def history(self, table: LakeTable, limit: int | None) -> Sequence[Commit]:
        """Return the last commits, or all in the log, latest first."""

    def old_files(self, table: LakeTable) -> int:
        """Return how many files `vacuum` would remove now."""

    def compact(self, table: LakeTable, note: str) -> bool:
        """Compact small files, in bounded memory; the rows stay the same. `note`: see `Step`."""

    def vacuum(self, table: LakeTable, note: str) -> bool:
        """Remove files that no version within the table's retention refers to, whether they were
        removed by a commit or never committed. Newer files stay."""
