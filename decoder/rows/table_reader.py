"""Conversion of the cells of a table's rows to a struct of Arrow arrays."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import pyarrow as pa

from decoder.columns.cells import CellError, Cells, Column, ColumnReader
from decoder.columns.registry import reader
from decoder.model import schemas
from decoder.model.definition import TableDefinition
from decoder.model.options import TypeOptions
from decoder.model.results import LossyValues
from decoder.rows.blocks import MAX_ROWS


@dataclass(frozen=True, slots=True)
class Images:
    """The before-images or after-images of a block's rows.

    `absent`: names of the columns that are not in the images; `diffs`: a map of JSON diffs per row,
    None if there are none; `lossy`: the values that differ from what was logged.
    """

    array: pa.StructArray
    absent: tuple[str, ...] = ()
    diffs: pa.Array | None = None
    lossy: tuple[LossyValues, ...] = ()


class TableReader:
    """Builds the images of a table definition; created once per definition."""

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
        """Return null images: the before-images of inserts and the after-images of deletes."""
        return Images(self._no_images.slice(0, rows))

    def images(
        self, cells: Sequence[Cells | None], rows: int, diffs: pa.Array | None = None
    ) -> Images:
        """Return the images of a block's cells, given by column; None for an absent column.

        Raises CellError for a malformed cell.
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
