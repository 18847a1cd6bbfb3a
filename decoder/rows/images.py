"""The before-images and after-images of a block of walked rows, as structs of Arrow arrays."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from decoder.columns.cells import CellError, Cells, Column, ColumnReader
from decoder.columns.registry import reader
from decoder.kernels.memory import Bytes
from decoder.model import schemas
from decoder.model.definition import TableDefinition
from decoder.model.options import TypeOptions
from decoder.model.results import LossyValues
from decoder.rows.blocks import MAX_ROWS, Blocks
from decoder.rows.cell_positions import locate
from decoder.rows.image_layout import VARIABLE
from decoder.rows.partial_updates import take_diffs
from decoder.transactions import records as t

_NO_LENGTHS: npt.NDArray[np.int32] = np.zeros(0, np.int32)


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
    """Builder of the images of a table definition; created once per definition."""

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


class BlockImages:
    """Reader of the images of blocks; it owns a buffer for the positions of their cells."""

    def __init__(self, blocks: Blocks) -> None:
        self._blocks = blocks
        self._room: npt.NDArray[np.int32] = np.zeros(0, np.int32)

    def read(
        self, group: int, reader: TableReader, buffer: Bytes, first: int, stop: int
    ) -> tuple[Images, Images]:
        """Return the before- and after-images of rows [`first`, `stop`) of a group's block."""
        member = self._blocks.members[group]
        found = [
            self._image(group, number, reader, buffer, first, stop)
            for number in range(len(member.layouts))
        ]
        if len(found) == 2:
            return found[0], found[1]
        none = reader.no_images(stop - first)
        return (none, found[0]) if member.kind == t.INSERT else (found[0], none)

    def _image(
        self, group: int, number: int, reader: TableReader, buffer: Bytes, first: int, stop: int
    ) -> Images:
        cells = self._cells(group, number, reader, buffer, stop)
        if first:
            cells = [found and _from_row(found, first) for found in cells]
        diffs: pa.Array | None = None
        if number and self._blocks.members[group].kind == t.PARTIAL_UPDATE:
            start = int(self._blocks.table[group, t.GROUP_SHARED])
            shared = self._blocks.arrays[0][start + first : start + stop]
            diffs = take_diffs(reader.definition, buffer, shared, cells)
        return reader.images(cells, stop - first, diffs)

    def _cells(
        self, group: int, number: int, reader: TableReader, buffer: Bytes, rows: int
    ) -> list[Cells | None]:
        """Return the cells of an image by column of the table; None for an absent column."""
        layout = self._blocks.members[group].layouts[number]
        count = (layout.columns + layout.variable) * rows
        if len(self._room) < count:
            self._room = np.empty(count, np.int32)
        split = layout.columns * rows
        positions = self._room[:split].reshape(layout.columns, rows)
        lengths = self._room[split:count].reshape(layout.variable, rows)
        nulls = np.empty(layout.columns, np.int64)
        _, images, _, widths = self._blocks.groups
        locate(
            rows,
            int(self._blocks.table[group, t.GROUP_CAPACITY]),
            int(self._blocks.table[group, t.GROUP_IMAGE]) + number,
            images,
            layout.cells,
            widths,
            self._blocks.arrays,
            positions,
            lengths,
            nulls,
        )
        found: dict[int, Cells] = {}
        columns = zip(
            layout.present, nulls.tolist(), layout.cells[:, VARIABLE].tolist(), strict=True
        )
        for column, (place, missing, variable) in enumerate(columns):
            size = lengths[variable] if variable >= 0 else _NO_LENGTHS
            found[place] = Cells(buffer, positions[column], size, missing)
        return [found.get(place) for place in reader.places]


def _from_row(cells: Cells, first: int) -> Cells:
    positions = cells.positions[first:]
    nulls = int(np.count_nonzero(positions < 0))
    return Cells(cells.buffer, positions, cells.lengths[first:], nulls)
