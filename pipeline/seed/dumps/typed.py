"""Convert typed Parquet values to what a server would print, so that they are all read one way.

Values are checked there: `pipeline.seed.values` refuses any that the column cannot hold exactly.
Parquet types that do not fit the column raise TypeError here.
"""

from __future__ import annotations

import struct
from collections.abc import Callable

import pyarrow as pa
import pyarrow.compute as pc

from decoder.columns.addresses import BYTES
from decoder.columns.cells import CellError
from decoder.constants import INSTANT_TYPES, ColumnType as T
from decoder.model.definition import ColumnDefinition
from pipeline.seed.dumps.cell_rows import addresses

_DATETIMES = (T.DATETIME, T.DATETIME2)
_ISO = "%Y-%m-%d %H:%M:%S"


def _as_text(_column: ColumnDefinition, values: pa.Array) -> pa.Array:
    return values.cast(pa.string()).cast(pa.binary())


def _bytes(_column: ColumnDefinition, values: pa.Array) -> pa.Array:
    return values.cast(pa.binary())


def addressed(column: ColumnDefinition, texts: pa.Array) -> pa.Array:
    """Return the bytes of texts, or for a UUID, INET4 or INET6 the bytes that are logged."""
    cells = texts.cast(pa.binary())
    return addresses(column.logical)(cells) if column.logical in BYTES else cells


def _integers(column: ColumnDefinition, values: pa.Array) -> pa.Array:
    if column.type != T.BIT:
        return _as_text(column, values)
    found = [_bits(column, row, number) for row, number in enumerate(values.to_pylist())]
    return pa.array(found, pa.binary())


def _bits(column: ColumnDefinition, row: int, number: int | None) -> bytes | None:
    if number is None:
        return None
    try:
        return number.to_bytes((column.length + 7) // 8, "big")
    except OverflowError as error:
        raise CellError(row, f"it does not fit in BIT({column.length})") from error


def _booleans(column: ColumnDefinition, values: pa.Array) -> pa.Array:
    return _integers(column, values.cast(pa.int8()))


def _floats(column: ColumnDefinition, values: pa.Array) -> pa.Array:
    """Print all digits of a double: a single would be printed with a single's digits."""
    return _as_text(column, values.cast(pa.float64()))


def _timestamps(column: ColumnDefinition, values: pa.Array) -> pa.Array:
    zoned = values.type.tz is not None
    if column.type in INSTANT_TYPES and not zoned:
        raise TypeError("the table's column is a TIMESTAMP, which needs a time zone")
    if column.type in _DATETIMES and zoned:
        raise TypeError("the table's column is a DATETIME, which has no time zone")
    if column.type not in (*INSTANT_TYPES, *_DATETIMES):
        raise TypeError(f"the table's column is {column.type.name}")
    # Arrow stores an instant as a count since 1970 in UTC, whatever its time zone.
    micros = values.cast(pa.timestamp("us", values.type.tz)).cast(pa.int64())
    return pc.strftime(micros.cast(pa.timestamp("us")), _ISO).cast(pa.binary())


def _floats_of(value: list[float]) -> bytes:
    return struct.pack(f"<{len(value)}f", *value)


def _lists(column: ColumnDefinition, values: pa.Array) -> pa.Array:
    if T.VECTOR not in (column.type, column.logical):
        raise TypeError(f"the table's column is {column.type.name}")
    found = [None if one is None else _floats_of(one) for one in values.to_pylist()]
    return pa.array(found, pa.binary())


def _structs(column: ColumnDefinition, values: pa.Array) -> pa.Array:
    if column.type != T.GEOMETRY or {one.name for one in values.type} != {"srid", "wkb"}:
        raise TypeError(f"the table's column is {column.type.name}, not struct<srid, wkb>")
    found = [
        None if one is None else struct.pack("<I", one["srid"]) + one["wkb"]
        for one in values.to_pylist()
    ]
    return pa.array(found, pa.binary())


def _decoded(column: ColumnDefinition, values: pa.Array) -> pa.Array:
    return printed(column, values.dictionary_decode())


Printed = Callable[[ColumnDefinition, pa.Array], pa.Array]

_KINDS: tuple[tuple[Callable[[pa.DataType], bool], Printed], ...] = (
    (pa.types.is_null, _bytes),
    (pa.types.is_boolean, _booleans),
    (pa.types.is_integer, _integers),
    (pa.types.is_floating, _floats),
    (pa.types.is_decimal, _as_text),
    (pa.types.is_string, addressed),
    (pa.types.is_large_string, addressed),
    (pa.types.is_binary, _bytes),
    (pa.types.is_large_binary, _bytes),
    (pa.types.is_fixed_size_binary, _bytes),
    (pa.types.is_date, _as_text),
    (pa.types.is_time, _as_text),
    (pa.types.is_timestamp, _timestamps),
    (pa.types.is_list, _lists),
    (pa.types.is_large_list, _lists),
    (pa.types.is_fixed_size_list, _lists),
    (pa.types.is_struct, _structs),
    (pa.types.is_dictionary, _decoded),
)


def printed(column: ColumnDefinition, values: pa.Array) -> pa.Array:
    """Return the cell array of typed values. Raises TypeError for a type that does not fit."""
    for is_kind, turn in _KINDS:
        if is_kind(values.type):
            return turn(column, values)
    raise TypeError(f"values of {values.type} are not supported")
