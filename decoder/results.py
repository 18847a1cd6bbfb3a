"""What decoding a segment yields."""

from __future__ import annotations

from dataclasses import dataclass

import pyarrow as pa

from decoder.definition import TableDefinition


@dataclass(frozen=True, slots=True)
class Changes:
    """Changes of rows that were logged under one definition of a table.

    `batch` has the columns of `decoder.schemas.changes`.
    """

    definition: TableDefinition
    batch: pa.RecordBatch

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


@dataclass(frozen=True, slots=True)
class Transactions:
    """`decoder.schemas.TRANSACTIONS`: one row per transaction, or per part of one."""

    batch: pa.RecordBatch


@dataclass(frozen=True, slots=True)
class Statements:
    """`decoder.schemas.STATEMENTS`: one row per QUERY that is no transaction control."""

    batch: pa.RecordBatch


@dataclass(frozen=True, slots=True)
class Faults:
    """`decoder.schemas.FAULTS`: one row per transaction or event that could not be decoded."""

    batch: pa.RecordBatch


Result = Changes | Definitions | Transactions | Statements | Faults
