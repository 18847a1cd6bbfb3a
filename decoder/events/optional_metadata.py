"""The optional metadata at the end of a TABLE_MAP (`binlog_row_metadata`).

Format: MySQL `rows_event.h`, `Table_map_event::Optional_metadata_fields`: fields of a u8 type, a
length-encoded length, and a value. MINIMAL logs signedness, charsets and geometry types, FULL all.
Each list covers only the columns that it applies to, in the table's order.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from decoder.events.cursor import Cursor


@dataclass(frozen=True, slots=True)
class DefaultCharset:
    """The collation id of most columns, and those of the others by column."""

    collation: int
    """Length-encoded."""
    exceptions: tuple[tuple[int, int], ...]
    """Pairs of length-encoded integers: index among the character columns, collation id."""

    def of(self, index: int) -> int:
        """Return the collation id of the character column at `index`."""
        return dict(self.exceptions).get(index, self.collation)


@dataclass(frozen=True, slots=True)
class OptionalMetadata:
    """The fields as logged; None if a field is absent."""

    signedness: tuple[bool, ...] | None = None
    """1: a bit per numeric column, highest first; set for UNSIGNED; padded to whole bytes."""
    default_charset: DefaultCharset | None = None
    """2: collations of character columns."""
    column_charset: tuple[int, ...] | None = None
    """3: instead of field 2, a collation id per character column."""
    column_name: tuple[str, ...] | None = None
    """4: length-encoded length and UTF-8 per column."""
    set_labels: tuple[tuple[bytes, ...], ...] | None = None
    """5: per SET column a length-encoded count, then length and bytes of each label."""
    enum_labels: tuple[tuple[bytes, ...], ...] | None = None
    """6: the same for ENUM columns."""
    geometry_type: tuple[int, ...] | None = None
    """7: length-encoded code per geometry column (0 any, 1 point, 2 line string, …)."""
    primary_key: tuple[tuple[int, int], ...] | None = None
    """8: column indexes; or 9: pairs of index and prefix length in characters (0: whole column)."""
    enum_and_set_default_charset: DefaultCharset | None = None
    """10: as field 2, for ENUM and SET columns."""
    enum_and_set_column_charset: tuple[int, ...] | None = None
    """11: as field 3, for ENUM and SET columns."""
    visibility: tuple[bool, ...] | None = None
    """12: a bit per column, highest first; clear for INVISIBLE; padded to whole bytes."""
    dimensions: tuple[int, ...] | None = None
    """13: length-encoded number of floats per VECTOR column."""


def parse_optional_metadata(cursor: Cursor) -> OptionalMetadata:
    """Read the fields up to the cursor's end; unknown types are ignored, as servers do."""
    values: dict[str, Any] = {}
    while cursor.remaining:
        code = cursor.u8()
        value = cursor.part(cursor.length_encoded())
        if code in _FIELDS:
            name, read = _FIELDS[code]
            values[name] = read(value)
    return OptionalMetadata(**values)


def _bits(cursor: Cursor) -> tuple[bool, ...]:
    return tuple(bool(byte >> shift & 1) for byte in cursor.rest() for shift in range(7, -1, -1))


def _list_of(read: Callable[[Cursor], Any]) -> Callable[[Cursor], tuple[Any, ...]]:
    def read_list(cursor: Cursor) -> tuple[Any, ...]:
        values = []
        while cursor.remaining:
            values.append(read(cursor))
        return tuple(values)

    return read_list


def _pair(cursor: Cursor) -> tuple[int, int]:
    return cursor.length_encoded(), cursor.length_encoded()


def _name(cursor: Cursor) -> str:
    return cursor.text(cursor.length_encoded())


def _labels_of_column(cursor: Cursor) -> tuple[bytes, ...]:
    count = cursor.length_encoded()
    if count > cursor.remaining:
        raise cursor.malformed(f"{count} labels do not fit in the {cursor.remaining} bytes left")
    return tuple(cursor.take(cursor.length_encoded()) for _ in range(count))


_integers = _list_of(Cursor.length_encoded)
_pairs = _list_of(_pair)


def _default_charset(cursor: Cursor) -> DefaultCharset:
    return DefaultCharset(cursor.length_encoded(), _pairs(cursor))


def _simple_primary_key(cursor: Cursor) -> tuple[tuple[int, int], ...]:
    return tuple((index, 0) for index in _integers(cursor))


_FIELDS: dict[int, tuple[str, Callable[[Cursor], Any]]] = {
    1: ("signedness", _bits),
    2: ("default_charset", _default_charset),
    3: ("column_charset", _integers),
    4: ("column_name", _list_of(_name)),
    5: ("set_labels", _list_of(_labels_of_column)),
    6: ("enum_labels", _list_of(_labels_of_column)),
    7: ("geometry_type", _integers),
    8: ("primary_key", _simple_primary_key),
    9: ("primary_key", _pairs),
    10: ("enum_and_set_default_charset", _default_charset),
    11: ("enum_and_set_column_charset", _integers),
    12: ("visibility", _bits),
    13: ("dimensions", _integers),
}
