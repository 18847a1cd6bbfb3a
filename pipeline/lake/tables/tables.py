"""The interface to the tables of bronze, silver and the ledger: read rows and commit steps.

Two implementations keep the same contract, and pass the same tests: by delta-rs, for tables that
this process can access by path (`native`), and by Spark, for tables in a catalog or on another
machine (`by_spark`). Every commit checks `pipeline.lake.locks.lease`, holds
`pipeline.lake.locks.lock`, and carries its step's transaction identifier, which is looked up first:
a step is committed once, by whichever run.

Methods return once their step is committed, no matter by which run. They raise ConcurrentRunError
after too many conflicts with other writers, LakeLostError if this run lost its lease on the lake,
or may have, UnreachableError if the store fails. Those that commit return False if this call
certainly committed nothing: the step was already committed, or there was nothing to do. With
delta-rs, True means that this call committed; Spark does not report it, so True is returned.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, TypeAlias

import pyarrow as pa

if TYPE_CHECKING:
    from pipeline.lake.tables.by_spark import SparkTables
    from pipeline.lake.tables.native import NativeTables

FILE = "__filename"
"""The column of `read` with the name of the row's data file, relative to the table's folder."""


@dataclass(frozen=True, slots=True)
class NewValue:
    """A new value for a column, as SQL and as a function of the rows to change."""

    column: str
    sql: str
    values: Callable[[pa.Table], pa.Array | pa.ChunkedArray]


def constant(column: str, value: int) -> NewValue:
    """Return the change that sets a column to a number."""
    return NewValue(
        column, str(value), lambda rows: pa.repeat(pa.scalar(value, pa.int64()), len(rows))
    )


Tables: TypeAlias = "NativeTables | SparkTables"
"""The tables of one lake."""
