"""GEOMETRY and its subtypes: an SRID in four little-endian bytes, then the stored WKB."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import pyarrow as pa

from decoder.columns.cells import CellError, Cells, Column
from decoder.columns.fixed_width import FixedWidthReader, read_4_to_4
from decoder.columns.values import arrow_array, copied

SRID_SIZE = 4
_TYPE = pa.struct([("srid", pa.int32()), ("wkb", pa.binary())])


@dataclass(frozen=True, slots=True)
class GeometryReader:
    """Reader for geometries as struct<srid: int32, wkb: binary>."""

    arrow_type: pa.DataType = _TYPE

    def read(self, cells: Cells) -> Column:
        """Return the cells as structs; CellError for a value shorter than an SRID."""
        short = np.flatnonzero((cells.lengths < SRID_SIZE) & (cells.positions >= 0))
        if len(short):
            raise CellError(int(short[0]), "a GEOMETRY is shorter than its four-byte SRID")
        srid = FixedWidthReader(pa.int32(), read_4_to_4).read(cells).array
        wkb = copied(cells, skip=SRID_SIZE).array(pa.binary(), cells)
        return Column(arrow_array(self.arrow_type, cells, children=[srid, wkb]))
