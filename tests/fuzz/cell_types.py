"""Single cells of every column type, as they are passed to the column readers."""

from __future__ import annotations

from collections.abc import Iterable

from decoder import TypeOptions
from decoder.constants import ColumnType as T
from decoder.model.definition import ColumnDefinition
from decoder.rows.image_layout import stored_width
from tests.support.decoder.cells import column, values

_OPTIONS = (TypeOptions(), TypeOptions(time="micros", zero_dates="string"))
_COLLATIONS = (8, 11, 13, 19, 24, 28, 33, 35, 45, 54, 60, 63, 84, 85, 87, 95, 98, 248)
"""One of each kind of charset: single-byte, UTF-8, UTF-16, UTF-32, East Asian ones, binary."""
_LABELS = ("red", "", "grün")
_SAMPLES = (b"", b"\x00", b"\x80\x00\x00\x00\x00", b"\x8f\xff\xff\xff\xff\xff\xff\xff", b"caf\xc3")

COLUMNS: tuple[ColumnDefinition, ...] = (
    *(column(kind) for kind in (T.TINY, T.SHORT, T.INT24, T.LONG, T.YEAR, T.FLOAT, T.DOUBLE)),
    *(column(T.LONGLONG, unsigned=unsigned) for unsigned in (False, True)),
    *(
        column(T.NEWDECIMAL, precision=precision, scale=scale)
        for precision, scale in ((1, 0), (10, 2), (18, 18), (38, 20), (65, 30), (65, 0))
    ),
    *(column(T.BIT, length=length) for length in (1, 9, 63, 64)),
    *(column(kind) for kind in (T.DATE, T.TIME, T.DATETIME, T.TIMESTAMP)),
    *(
        column(kind, fraction=fraction)
        for kind in (T.TIME2, T.DATETIME2, T.TIMESTAMP2)
        for fraction in range(7)
    ),
    *(column(kind, length=size, labels=_LABELS) for kind in (T.ENUM, T.SET) for size in (1, 2)),
    column(T.SET, length=8, labels=tuple(map(str, range(64)))),
    *(column(T.VARCHAR, length=400, length_bytes=2, collation=c) for c in _COLLATIONS),
    column(T.STRING, length=40, length_bytes=1, collation=63),
    *(
        column(kind, length=400, length_bytes=2, collation=collation)
        for kind in (T.VARCHAR_COMPRESSED, T.BLOB_COMPRESSED)
        for collation in (45, 63)
    ),
    column(T.JSON, length_bytes=4),
    column(T.GEOMETRY, length_bytes=4),
    column(T.VECTOR, length_bytes=4, dimension=3),
)


def read_cell(data: bytes) -> None:
    """Read a u8 for the column; the rest is the cell, padded or cut to the size of a fixed-width
    type.
    """
    chosen = COLUMNS[data[0] % len(COLUMNS)] if data else COLUMNS[0]
    width = stored_width(chosen)
    cell = data[1:][:width].ljust(width, b"\0") if width else data[1:]
    for options in _OPTIONS:
        values(chosen, [None, cell, cell], options)


def seeds_of_cells() -> Iterable[bytes]:
    """Return a few cells for each column."""
    return [bytes([number]) + cell for number in range(len(COLUMNS)) for cell in _SAMPLES]
