"""The FIELDS and LINES options of LOAD DATA before MySQL 5.0 (`sql/log_event.h`, `sql_ex_info`)."""

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
    """Separators, in the order in which they are logged."""

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
    """u8; in LOAD another u8 follows, with a bit for each empty separator, lowest bit first."""


def read_options(cursor: Cursor) -> LoadOptions:
    """Read the options of NEW_LOAD and CREATE_FILE."""
    return _options([cursor.take(cursor.u8()) for _ in range(_SEPARATORS)], cursor.u8())


def read_options_v1(cursor: Cursor) -> LoadOptions:
    """Read the options of LOAD, whose separators are single bytes."""
    characters = [cursor.take(1) for _ in range(_SEPARATORS)]
    flags, empty = cursor.u8(), cursor.u8()
    return _options([b"" if empty >> k & 1 else c for k, c in enumerate(characters)], flags)


def _options(separators: list[bytes], flags: int) -> LoadOptions:
    columns_by, enclosed_by, lines_by, starting_by, escaped_by = separators
    return LoadOptions(columns_by, enclosed_by, lines_by, starting_by, escaped_by, LoadFlag(flags))
