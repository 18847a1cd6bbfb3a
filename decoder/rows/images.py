"""The before-images and after-images of a block of walked rows."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from decoder.columns.cells import Cells
from decoder.errors import BinlogError
from decoder.kernels.memory import Bytes
from decoder.rows.blocks import Blocks
from decoder.rows.cell_positions import locate
from decoder.rows.image_layout import VARIABLE
from decoder.rows.partial_updates import take_diffs
from decoder.rows.table_reader import Images, TableReader
from decoder.transactions import records as t

_NO_LENGTHS: npt.NDArray[np.int32] = np.zeros(0, np.int32)


@dataclass(frozen=True, slots=True)
class Group:
    """The table slot and the kind of events that the rows of a block share.

    `error`: why the rows cannot be decoded, if so.
    """

    index: int
    slot: int
    kind: int
    error: BinlogError | None


class BlockImages:
    """Reads the images of blocks; owns a buffer for the positions of their cells."""

    def __init__(self, blocks: Blocks) -> None:
        self._blocks = blocks
        self._room: npt.NDArray[np.int32] = np.zeros(0, np.int32)

    def read(
        self, group: Group, reader: TableReader, buffer: Bytes, first: int, stop: int
    ) -> tuple[Images, Images]:
        """Return the before- and after-images of rows [`first`, `stop`) of a group's block."""
        found = [
            self._image(group, number, reader, buffer, first, stop)
            for number in range(len(self._blocks.plans[group.index]))
        ]
        if len(found) == 2:
            return found[0], found[1]
        none = reader.no_images(stop - first)
        return (none, found[0]) if group.kind == t.INSERT else (found[0], none)

    def _image(
        self, group: Group, number: int, reader: TableReader, buffer: Bytes, first: int, stop: int
    ) -> Images:
        cells = self._cells(group, number, reader, buffer, stop)
        if first:
            cells = [found and _from_row(found, first) for found in cells]
        diffs: pa.Array | None = None
        if number and group.kind == t.PARTIAL_UPDATE:
            start = int(self._blocks.table[group.index, t.GROUP_SHARED])
            shared = self._blocks.arrays[0][start + first : start + stop]
            diffs = take_diffs(reader.definition, buffer, shared, cells)
        return reader.images(cells, stop - first, diffs)

    def _cells(
        self, group: Group, number: int, reader: TableReader, buffer: Bytes, rows: int
    ) -> list[Cells | None]:
        """Return the cells of an image by column of the table; None for an absent column."""
        plan = self._blocks.plans[group.index][number]
        count = (plan.columns + plan.variable) * rows
        if len(self._room) < count:
            self._room = np.empty(count, np.int32)
        split = plan.columns * rows
        positions = self._room[:split].reshape(plan.columns, rows)
        lengths = self._room[split:count].reshape(plan.variable, rows)
        nulls = np.empty(plan.columns, np.int64)
        _, images, _, widths = self._blocks.groups
        locate(
            rows,
            int(self._blocks.table[group.index, t.GROUP_CAPACITY]),
            int(self._blocks.table[group.index, t.GROUP_IMAGE]) + number,
            images,
            plan.cells,
            widths,
            self._blocks.arrays,
            positions,
            lengths,
            nulls,
        )
        found: dict[int, Cells] = {}
        columns = zip(plan.present, nulls.tolist(), plan.cells[:, VARIABLE].tolist(), strict=True)
        for column, (place, missing, variable) in enumerate(columns):
            size = lengths[variable] if variable >= 0 else _NO_LENGTHS
            found[place] = Cells(buffer, positions[column], size, missing)
        return [found.get(place) for place in reader.places]


def _from_row(cells: Cells, first: int) -> Cells:
    positions = cells.positions[first:]
    nulls = int(np.count_nonzero(positions < 0))
    return Cells(cells.buffer, positions, cells.lengths[first:], nulls)
