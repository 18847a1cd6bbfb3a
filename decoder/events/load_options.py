"""How a LOAD DATA of before MySQL 5.0 splits its file: `sql_ex_info` of `sql/log_event.h`."""

from __future__ import annotations

from dataclasses import dataclass
from enum import IntFlag

from decoder.events.cursor import Cursor

_SEPARATORS = 5


class LoadFlag(IntFlag):
    """Bits of the options."""

    DUMPFILE = 0x1
    OPTIONALLY_ENCLOSED = 0x2
    REPLACE = 0x4
    IGNORE = 0x8


@dataclass(frozen=True, slots=True)
class LoadOptions:
    """Separators, in the order that they are logged in."""

    fields_terminated_by: bytes
    """u8 length and text; in LOAD one byte."""
    fields_enclosed_by: bytes
    """The same."""
    lines_terminated_by: bytes
    """The same."""
    lines_starting_by: bytes
    """The same."""
    fields_escaped_by: bytes
    """The same."""
    flags: LoadFlag
    """u8; in LOAD another u8 follows, whose bits tell, lowest first, which separators are empty."""


def read_options(cursor: Cursor) -> LoadOptions:
    """As NEW_LOAD and CREATE_FILE have them."""
    return _options([cursor.take(cursor.u8()) for _ in range(_SEPARATORS)], cursor.u8())


def read_options_v1(cursor: Cursor) -> LoadOptions:
    """As LOAD has them."""
    characters = [cursor.take(1) for _ in range(_SEPARATORS)]
    flags, empty = cursor.u8(), cursor.u8()
    return _options([b"" if empty >> k & 1 else c for k, c in enumerate(characters)], flags)


def _options(separators: list[bytes], flags: int) -> LoadOptions:
    columns_by, enclosed_by, lines_by, starting_by, escaped_by = separators
    return LoadOptions(columns_by, enclosed_by, lines_by, starting_by, escaped_by, LoadFlag(flags))
