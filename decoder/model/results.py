"""Results of decoding a segment."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from decoder.model.definition import TableDefinition


@dataclass(frozen=True, slots=True)
class LossyValues:
    """The rows of a batch where a column's value was replaced, in the before or after image.

    Arrow's types cannot represent it as logged: a zero or impossible date becomes null; bytes that
    are invalid in their charset become U+FFFD.
    """

    column: str
    rows: npt.NDArray[np.int64]

    def filter(self, kept: npt.NDArray[np.bool_]) -> LossyValues:
        """Keep the rows where `kept` is set, and renumber them as in the filtered batch."""
        rows = self.rows[kept[self.rows]]
        return LossyValues(self.column, (np.cumsum(kept) - 1)[rows])

    def slice(self, start: int, stop: int) -> LossyValues:
        """Keep the rows in [start, stop), and renumber them from 0."""
        inside = (self.rows >= start) & (self.rows < stop)
        return LossyValues(self.column, self.rows[inside] - start)


@dataclass(frozen=True, slots=True)
class Changes:
    """Row changes that were logged under one definition of a table.

    `batch` has the schema `decoder.model.schemas.changes`; `lossy` lists the values in it that
    differ from the logged ones.
    """

    definition: TableDefinition
    batch: pa.RecordBatch
    lossy: tuple[LossyValues, ...] = ()

    def filter(self, kept: npt.NDArray[np.bool_]) -> Changes:
        """Keep the changes where `kept` is set."""
        lossy = tuple(values.filter(kept) for values in self.lossy)
        return Changes(self.definition, self.batch.filter(kept), lossy)

    def slice(self, start: int, stop: int) -> Changes:
        """Keep the changes in [start, stop)."""
        lossy = tuple(values.slice(start, stop) for values in self.lossy)
        return Changes(self.definition, self.batch.slice(start, stop - start), lossy)

    @property
    def schema(self) -> str:
        """The database's name."""
        return self.definition.schema

    @property
    def table(self) -> str:
        """The table's name."""
        return self.definition.table


@dataclass(frozen=True, slots=True)
class Definitions:
    """(LSN, file position, definition) of each TABLE_MAP that changes its table's definition."""

    items: list[tuple[int, int, TableDefinition]]


class Transactions:
    """The segment's transactions; `make` builds their batch on first access."""

    def __init__(self, make: Callable[[], pa.RecordBatch]) -> None:
        self._make = make

    @cached_property
    def batch(self) -> pa.RecordBatch:
        """One row per transaction or part of one; schema `decoder.model.schemas.TRANSACTIONS`."""
        return self._make()


@dataclass(frozen=True, slots=True)
class Statements:
    """One row per QUERY that is not transaction control (BEGIN, COMMIT, …).

    Its schema is `decoder.model.schemas.STATEMENTS`.
    """

    batch: pa.RecordBatch


@dataclass(frozen=True, slots=True)
class Faults:
    """One row per transaction or event that could not be decoded.

    Its schema is `decoder.model.schemas.FAULTS`.
    """

    batch: pa.RecordBatch

    def excluding(self, kind: str) -> Faults:
        """Return the faults of all other kinds."""
        return Faults(self.batch.filter(pc.not_equal(self.batch.column("kind"), kind)))


Result = Changes | Definitions | Transactions | Statements | Faults
