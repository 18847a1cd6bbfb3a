"""The type metadata of columns in a TABLE_MAP: lengths, precision, fractional digits.

Format: MySQL `Field::do_save_field_metadata` of each type (`sql/field.cc`), read back by
`read_field_metadata` (`sql/rpl_utility.cc`); MariaDB `Field::binlog_type_info` (`sql/field.cc`).
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from decoder.constants import ColumnType
from decoder.events.cursor import Cursor

_TYPED_ARRAY_LENGTH_BYTES = 4
_MAX_PRECISION = 65
_MAX_FRACTION = 6
_LONG_LENGTH = 256
"""From this length in bytes on, a string's length prefix takes two bytes."""
_OF_TWO_FORMS = frozenset({ColumnType.TIME, ColumnType.DATETIME, ColumnType.TIMESTAMP})
"""With `mysql56_temporal_format=OFF` MariaDB logs these types for any number of fractional digits;
the storage format depends on that number, and the metadata does not contain it."""


def parse_column_metadata(
    column_type: ColumnType, cursor: Cursor, *, mariadb: bool
) -> dict[str, Any]:
    """Read a column's metadata; return the ColumnDefinition fields in it, including `type`."""
    fields = {"type": column_type, **_READERS.get(column_type, _nothing)(cursor)}
    if mariadb and column_type in _OF_TWO_FORMS:
        fields["fraction_logged"] = False
    return fields


def _nothing(cursor: Cursor) -> dict[str, Any]:
    return {}


def _float(cursor: Cursor) -> dict[str, Any]:
    # u8: bytes of the value, 4 or 8
    return {"length": cursor.u8()}


def _blob(cursor: Cursor) -> dict[str, Any]:
    # u8: bytes of the length prefix
    length_bytes = cursor.u8()
    if not 1 <= length_bytes <= 4:
        raise cursor.malformed(f"a column has length prefixes of {length_bytes} bytes, not 1 to 4")
    return {"length_bytes": length_bytes}


def _string_lengths(length: int) -> dict[str, Any]:
    return {"length": length, "length_bytes": 1 if length < _LONG_LENGTH else 2}


def _varchar(cursor: Cursor) -> dict[str, Any]:
    # u16: maximum length in bytes
    return _string_lengths(cursor.u16())


def _string(cursor: Cursor) -> dict[str, Any]:
    """Read a u8 real type and a u8 length in bytes.

    A CHAR can be longer than 255 bytes: bits 8 and 9 of the length are stored inverted in bits 4
    and 5 of the type, which are set in all three real types.
    """
    first = cursor.u8()
    length = cursor.u8() | (first & 0x30 ^ 0x30) << 4
    real_type = first | 0x30
    if real_type in (ColumnType.ENUM, ColumnType.SET):
        return _enum_or_set(ColumnType(real_type), length, cursor)
    if real_type != ColumnType.STRING:
        raise cursor.malformed(f"a string column has the unknown real type {real_type}")
    return {"type": ColumnType.STRING, **_string_lengths(length)}


def _enum_or_set(real_type: ColumnType, length: int, cursor: Cursor) -> dict[str, Any]:
    longest = 2 if real_type == ColumnType.ENUM else 8
    if not 1 <= length <= longest:
        raise cursor.malformed(f"values of a column {real_type.name} have {length} bytes")
    return {"type": real_type, "length": length}


def _bit(cursor: Cursor) -> dict[str, Any]:
    # u8 remaining bits, u8 whole bytes
    length = cursor.u8() + 8 * cursor.u8()
    if not 1 <= length <= 64:
        raise cursor.malformed(f"a column has the invalid type BIT({length})")
    return {"length": length}


def _decimal(cursor: Cursor) -> dict[str, Any]:
    # u8 precision, u8 scale
    precision, scale = cursor.u8(), cursor.u8()
    if not (1 <= precision <= _MAX_PRECISION and scale <= precision):
        raise cursor.malformed(f"a column has the invalid type DECIMAL({precision},{scale})")
    return {"precision": precision, "scale": scale}


def _fraction(cursor: Cursor) -> dict[str, Any]:
    # u8: fractional digits of the seconds
    fraction = cursor.u8()
    if fraction > _MAX_FRACTION:
        raise cursor.malformed(f"a temporal column has {fraction} fractional digits")
    return {"fraction": fraction}


def _typed_array(cursor: Cursor) -> dict[str, Any]:
    """Read a u8 element type and its metadata, in which a VARCHAR's length has 3 bytes.

    This is the hidden column of a multi-valued index; its values are stored like JSON.
    """
    element = cursor.u8()
    if element == ColumnType.VARCHAR:
        cursor.skip(3)
    elif element in _READERS and element != ColumnType.TYPED_ARRAY:
        _READERS[ColumnType(element)](cursor)
    return {"length_bytes": _TYPED_ARRAY_LENGTH_BYTES}


_T = ColumnType
_READERS: dict[ColumnType, Callable[[Cursor], dict[str, Any]]] = {
    **dict.fromkeys((_T.FLOAT, _T.DOUBLE), _float),
    **dict.fromkeys((_T.TINY_BLOB, _T.BLOB, _T.MEDIUM_BLOB, _T.LONG_BLOB), _blob),
    **dict.fromkeys((_T.BLOB_COMPRESSED, _T.GEOMETRY, _T.JSON, _T.VECTOR), _blob),
    **dict.fromkeys((_T.VARCHAR, _T.VARCHAR_COMPRESSED, _T.VAR_STRING), _varchar),
    **dict.fromkeys((_T.STRING, _T.ENUM, _T.SET), _string),
    _T.BIT: _bit,
    _T.NEWDECIMAL: _decimal,
    **dict.fromkeys((_T.TIME2, _T.DATETIME2, _T.TIMESTAMP2), _fraction),
    _T.TYPED_ARRAY: _typed_array,
}
"""Types that are not listed have no metadata."""
