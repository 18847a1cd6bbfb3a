"""Positions in a server's log (file and offset), and the names of log files."""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import total_ordering

_NAME = re.compile(r"(?P<base>[^/\x00]*[^/.\x00])\.(?P<number>[0-9]{6,})")
"""Names of a server's log files: never a path, never hidden."""


@total_ordering
@dataclass(frozen=True, slots=True)
class LogPosition:
    """The position after the event that ends at `position` of `file`; ordered as in the log."""

    file: str
    position: int

    def __lt__(self, other: LogPosition) -> bool:
        return (number_of(self.file), self.position) < (number_of(other.file), other.position)

    def __str__(self) -> str:
        return f"{self.file}:{self.position}"


def is_log_name(name: str) -> bool:
    """Return True if this can be the name of a binary log."""
    return _NAME.fullmatch(name) is not None and not name.startswith(".")


def number_of(name: str) -> int:
    """Return the number in a log's name. Raises ValueError for any other name."""
    match = _NAME.fullmatch(name)
    if match is None:
        raise ValueError(f"{name!r} is not a binary log name")
    return int(match["number"])


def follows(later: str, earlier: str) -> bool:
    """Return True if `later` is the next file after `earlier`: same base, next number."""
    found = [_NAME.fullmatch(name) for name in (earlier, later)]
    before, after = found
    if before is None or after is None:
        return False
    same = before["base"] == after["base"]
    return same and int(after["number"]) == int(before["number"]) + 1
