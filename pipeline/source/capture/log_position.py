"""A place in a server's log: a file's name and an offset in it, in the log's order."""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import total_ordering

_NAME = re.compile(r"(?P<base>[^/\x00]*[^/.\x00])\.(?P<number>[0-9]{6,})")
"""What a server names its logs: never a path, and never hidden."""


@total_ordering
@dataclass(frozen=True, slots=True)
class LogPosition:
    """Behind the event that ends at `position` of `file`."""

    file: str
    position: int

    def __lt__(self, other: LogPosition) -> bool:
        return (number_of(self.file), self.position) < (number_of(other.file), other.position)

    def __str__(self) -> str:
        return f"{self.file}:{self.position}"


def is_log_name(name: str) -> bool:
    """Whether a server names a binary log like this."""
    return _NAME.fullmatch(name) is not None and not name.startswith(".")


def number_of(name: str) -> int:
    """The number in a log's name. Raises ValueError for another name."""
    match = _NAME.fullmatch(name)
    if match is None:
        raise ValueError(f"{name!r} is no name of a binary log")
    return int(match["number"])


def follows(later: str, earlier: str) -> bool:
    """Whether a server goes on in `later` behind `earlier`: of the same base, the next number."""
    found = [_NAME.fullmatch(name) for name in (earlier, later)]
    before, after = found
    if before is None or after is None:
        return False
    same = before["base"] == after["base"]
    return same and int(after["number"]) == int(before["number"]) + 1
