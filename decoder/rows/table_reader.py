"""One table definition's columns: cells of a block of rows to a struct of Arrow arrays."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import pyarrow as pa

from decoder.columns.cells import CellError, Cells, Column, ColumnReader
from decoder.columns.registry import reader
from decoder.model import schemas
from decoder.model.definition import TableDefinition
from decoder.model.lossy_values import LossyValues
from decoder.model.options import TypeOptions
from decoder.rows.blocks import MAX_ROWS


@dataclass(frozen=True, slots=True)
class Images:
    """The images of a block's rows, before or after.

    `absent`: the columns that they leave out; `diffs`: the map of JSON diffs of each row, None
    where there are none; `lossy`: what of them is not as it was logged.
    """

    array: pa.StructArray
    absent: tuple[str, ...] = ()
    diffs: pa.Array | None = None
    lossy: tuple[LossyValues, ...] = ()


class TableReader:
    """Builds the images of one table definition; made once per definition."""

    def __init__(self, definition: TableDefinition, options: TypeOptions) -> None:
        self.definition = definition
        self.places = definition.places
        key = frozenset(definition.primary_key)
        self.readers: list[ColumnReader] = [
            reader(column, options, key=index in key)
            for index, column in enumerate(definition.columns)
        ]
        self.row_type = pa.struct(
            [
                pa.field(column.name, column_reader.arrow_type)
                for column, column_reader in zip(definition.columns, self.readers, strict=True)
            ]
        )
        self.schema = schemas.changes(self.row_type)

    @cached_property
    def _no_images(self) -> pa.StructArray:
        return pa.nulls(MAX_ROWS, self.row_type)

    def no_images(self, rows: int) -> Images:
        """The images that an insert has not before it, and a delete not after it."""
        return Images(self._no_images.slice(0, rows))

    def images(
        self, cells: Sequence[Cells | None], rows: int, diffs: pa.Array | None = None
    ) -> Images:
        """The struct of a block's cells, by column, None for one that is left out.

        CellError for a cell that is malformed.
        """
        children = [self._child(column, found, rows) for column, found in enumerate(cells)]
        names = [column.name for column in self.definition.columns]
        arrays = [child.array for child in children]
        return Images(
            pa.Array.from_buffers(self.row_type, rows, [None], 0, 0, arrays),
            tuple(name for name, found in zip(names, cells, strict=True) if found is None),
            diffs,
            tuple(
                LossyValues(name, child.lossy)
                for name, child in zip(names, children, strict=True)
                if len(child.lossy)
            ),
        )

    def _child(self, column: int, cells: Cells | None, rows: int) -> Column:
        if cells is None:
            return Column(self._no_images.field(column).slice(0, rows))
        try:
            return self.readers[column].read(cells)
        except CellError as error:
            name = self.definition.columns[column].name
            error.reason = f"column {name}: {error.reason}"
            raise
