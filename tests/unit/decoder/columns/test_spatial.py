"""GEOMETRY and VECTOR columns."""

from __future__ import annotations

import struct

import pytest

from decoder.columns.cells import CellError
from decoder.constants import ColumnType as T
from tests.support.decoder.cells import column, values


def test_geometries_are_srid_and_wkb() -> None:
    point = struct.pack("<BIdd", 1, 1, 1.5, -2.0)
    stored = [struct.pack("<I", 4326) + point, None, struct.pack("<I", 0) + point * 3]
    assert values(column(T.GEOMETRY, length_bytes=4), stored) == [
        {"srid": 4326, "wkb": point},
        None,
        {"srid": 0, "wkb": point * 3},
    ]


def test_a_geometry_without_an_srid_is_malformed() -> None:
    with pytest.raises(CellError) as caught:
        values(column(T.GEOMETRY, length_bytes=4), [None, bytes(4), b"\0\0\0"])
    assert caught.value.row == 2


def test_vectors_are_lists_of_floats() -> None:
    stored = [struct.pack("<3f", 1.5, -0.0, 1e-40), None, b"", struct.pack("<40f", *range(40))]
    found = values(column(T.VECTOR, length_bytes=4, dimension=40), stored)
    assert found[1] is None
    assert [struct.pack(f"<{len(v)}f", *v) for v in (found[0], found[2], found[3])] == [
        stored[0],
        stored[2],
        stored[3],
    ]


def test_a_vector_with_an_incomplete_float_is_malformed() -> None:
    with pytest.raises(CellError) as caught:
        values(column(T.VECTOR, length_bytes=4), [bytes(8), bytes(7)])
    assert caught.value.row == 1
