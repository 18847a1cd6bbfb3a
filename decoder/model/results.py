"""What decoding a segment yields."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from decoder.model.definition import TableDefinition
from decoder.model.lossy_values import LossyValues


@dataclass(frozen=True, slots=True)
class Changes:
    """Changes of rows that were logged under one definition of a table.

    `batch` has the columns of `decoder.model.schemas.changes`; `lossy` tells which values in it are
    not what was logged.
    """

    definition: TableDefinition
    batch: pa.RecordBatch
    lossy: tuple[LossyValues, ...] = ()

    def filter(self, kept: npt.NDArray[np.bool_]) -> Changes:
        """The changes where `kept` is set."""
        lossy = tuple(values.filter(kept) for values in self.lossy)
        return Changes(self.definition, self.batch.filter(kept), lossy)

    def slice(self, start: int, stop: int) -> Changes:
        """The changes in [start, stop)."""
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
    """(LSN, file position, definition) of TABLE_MAPs that say something new about their table."""

    items: list[tuple[int, int, TableDefinition]]


class Transactions:
    """The transactions that ended: `make` builds their batch, when it is first asked for."""

    def __init__(self, make: Callable[[], pa.RecordBatch]) -> None:
        self._make = make

    @cached_property
    def batch(self) -> pa.RecordBatch:
        """`decoder.model.schemas.TRANSACTIONS`: one row per transaction, or part of one."""
        return self._make()


@dataclass(frozen=True, slots=True)
class Statements:
    """`decoder.model.schemas.STATEMENTS`: one row per QUERY that is no transaction control."""

    batch: pa.RecordBatch


@dataclass(frozen=True, slots=True)
class Faults:
    """`decoder.model.schemas.FAULTS`: one row per transaction or event that could not be
    decoded."""

    batch: pa.RecordBatch

    def but_for(self, kind: str) -> Faults:
        """Those of other kinds."""
        return Faults(self.batch.filter(pc.not_equal(self.batch.column("kind"), kind)))


Result = Changes | Definitions | Transactions | Statements | Faults
