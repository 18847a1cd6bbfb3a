"""Convert a table's printed rows to rows as the decoder makes them.

The cells of each column type:

| type | cell |
|---|---|
| integers, DECIMAL, YEAR | digits, with or without ZEROFILL's padding |
| FLOAT, DOUBLE | a decimal number, with all digits |
| BIT | its bytes, big-endian |
| CHAR, VARCHAR, TEXT, ENUM, SET, JSON | UTF-8, whatever the column's charset |
| BINARY, VARBINARY, BLOB, VECTOR | its bytes (BINARY with or without trailing zeros) |
| spatial | 4 bytes of SRID, then WKB |
| DATE, TIME, DATETIME | as MySQL prints them |
| TIMESTAMP | the same, by a session in UTC |
| INET4, INET6, UUID | the bytes that are logged |
"""

from __future__ import annotations

from collections.abc import Sequence

import pyarrow as pa

from decoder import TableDefinition, TypeOptions
from decoder.columns import CellError, Column, ColumnReader, reader, row_type
from decoder.constants import NUMERIC_TYPES, ColumnType as T
from decoder.model import ColumnDefinition
from pipeline.seed.errors import SeedValueError
from pipeline.seed.values.cell_bytes import PrintedReader, as_stored
from pipeline.seed.values.dates import TEMPORAL, printed_temporal
from pipeline.seed.values.numbers import printed_bits, printed_number
from pipeline.seed.values.text import printed_documents, printed_labels, printed_text


class RowReader:
    """Reader of one table's rows; `schema` has the fields of the decoder's row images.

    `staged` is the schema of staged files: the same types, columns c0, c1, …
    Raises UnsupportedError for a type that is not decoded.
    """

    def __init__(self, definition: TableDefinition, options: TypeOptions) -> None:
        self._definition = definition
        self._readers = [
            printed_reader(column, options, key=place in definition.primary_key)
            for place, column in enumerate(definition.columns)
        ]
        self.schema = pa.schema(row_type(definition, options))
        self.staged = pa.schema((f"c{n}", kind) for n, kind in enumerate(self.schema.types))

    def read(
        self, cells: Sequence[pa.Array], *, part: str = "", rows_before: int = 0
    ) -> pa.RecordBatch:
        """Return the rows of these cell arrays, one for each column in the table's order.

        Raises SeedValueError with the chunk `part`, and a row number to which `rows_before` is
        added.
        """
        arrays = []
        columns = self._definition.columns
        for column, read, printed in zip(columns, self._readers, cells, strict=True):
            try:
                arrays.append(read(printed).array)
            except CellError as error:
                raise SeedValueError(
                    str(self._definition),
                    column.name,
                    rows_before + error.row + 1,
                    printed[error.row].as_py(),
                    error.reason,
                    part,
                ) from error
        assert [array.type for array in arrays] == self.schema.types
        return pa.RecordBatch.from_arrays(arrays, schema=self.schema)

    def read_staged(
        self, cells: Sequence[pa.Array], *, part: str = "", rows_before: int = 0
    ) -> pa.RecordBatch:
        """Do the same as `read`, with the columns of staged files."""
        rows = self.read(cells, part=part, rows_before=rows_before)
        return pa.RecordBatch.from_arrays(rows.columns, schema=self.staged)


def printed_reader(
    column: ColumnDefinition, options: TypeOptions, *, key: bool = False
) -> PrintedReader:
    """Return the reader of a column's printed values; with `key`, lossy values are errors.

    Raises UnsupportedError for a type that is not decoded.
    """
    read = _reader(column, reader(column, options), options)

    def read_exactly(printed: pa.Array) -> Column:
        found = read(printed)
        if len(found.lossy):
            raise CellError(int(found.lossy[0]), "it is part of a key and cannot be kept exactly")
        return found

    return read_exactly if key else read


def _reader(column: ColumnDefinition, logged: ColumnReader, options: TypeOptions) -> PrintedReader:
    """Return the reader of printed values, of the type of those that `logged` reads from a log."""
    if column.logical or column.type in (T.GEOMETRY, T.VECTOR):
        return as_stored(logged)
    if column.type in TEMPORAL:
        return printed_temporal(column, options)
    if column.type in NUMERIC_TYPES:
        return printed_number(column, logged.arrow_type)
    match column.type:
        case T.BIT:
            return printed_bits(column, logged)
        case T.ENUM | T.SET:
            return printed_labels(column)
        case T.JSON:
            return printed_documents
    return printed_text(column, logged.arrow_type)
