"""Convert a table's printed rows to rows as the decoder makes them."""

from __future__ import annotations

from collections.abc import Sequence

import pyarrow as pa

from decoder import TableDefinition, TypeOptions
from decoder.columns.cells import CellError, Column
from pipeline.seed.errors import SeedValueError
from pipeline.seed.values.cell_bytes import PrintedReader
from pipeline.seed.values.registry import printed_reader


class RowReader:
    """Reader of one table's rows; `schema` has the fields of the decoder's row images."""

    def __init__(self, definition: TableDefinition, options: TypeOptions) -> None:
        self._definition = definition
        self._readers: tuple[PrintedReader, ...] = tuple(
            printed_reader(column, options, key=place in definition.primary_key)
            for place, column in enumerate(definition.columns)
        )
        self.schema = pa.schema(
            [
                pa.field(column.name, found.arrow_type)
                for column, found in zip(definition.columns, self._readers, strict=True)
            ]
        )

    def read(
        self, cells: Sequence[pa.Array], *, part: str = "", rows_before: int = 0
    ) -> pa.RecordBatch:
        """Return the rows of these cell arrays, one for each column in the table's order.

        Raises SeedValueError with the chunk `part`, and a row number to which `rows_before` is
        added.
        """
        arrays = [
            self._column(place, printed, part, rows_before).array
            for place, printed in enumerate(self._checked(cells))
        ]
        return pa.RecordBatch.from_arrays(arrays, schema=self.schema)

    def _checked(self, cells: Sequence[pa.Array]) -> Sequence[pa.Array]:
        if len(cells) != len(self._readers):
            raise ValueError(f"{len(cells)} cell arrays for {len(self._readers)} columns")
        return cells

    def _column(self, place: int, printed: pa.Array, part: str, rows_before: int) -> Column:
        try:
            return self._readers[place].read(printed)
        except CellError as error:
            row = error.row
            raise SeedValueError(
                str(self._definition),
                self._definition.columns[place].name,
                rows_before + row + 1,
                printed[row].as_py(),
                error.reason,
                part,
            ) from error


def row_reader(definition: TableDefinition, options: TypeOptions) -> RowReader:
    """Return the reader of a table's rows. Raises UnsupportedError for a type not decoded."""
    return RowReader(definition, options)
