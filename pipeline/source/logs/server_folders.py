"""The folders in which a capture lands the logs of servers that took over, one after the other.

`binlake capture` lands the first server's log in its folder itself, and that of each server that
takes over in one inside, `turn-0002`, `turn-0003`, …. By that the order of their logs is known,
and a server's that has several turns is a log of its own in each: there may be files between that
were not landed, and the file that one turn ended in may be landed again, with more in it.
"""

from __future__ import annotations

import re

FIRST_TURN = 1
_FOLDER = re.compile(r"turn-(?P<turn>[0-9]{4,})")


def turn_folder(turn: int) -> str:
    """What the folder of a turn behind the first is called."""
    return f"turn-{turn:04}"


def turn_of(path: str) -> int:
    """The turn that a file is of, by the folder that it is in: the first, unless that says more."""
    folder = path.rpartition("/")[0].rpartition("/")[2]
    found = _FOLDER.fullmatch(folder)
    return int(found["turn"]) if found else FIRST_TURN
