"""Names of the folders in which a capture lands the logs of successive servers.

`binlake capture` lands the first server's log in its folder itself, and after each failover that of
the next server in a subfolder, `turn-0002`, `turn-0003`, …: so the order of their logs is known. A
server with several turns has a separate log in each: files between them may not have been landed,
and the last file of one turn may be landed again, with more in it, in a later one.
"""

from __future__ import annotations

import re

FIRST_TURN = 1
_FOLDER = re.compile(r"turn-(?P<turn>[0-9]{4,})")


def turn_folder(turn: int) -> str:
    """Return the folder name of a turn after the first."""
    return f"turn-{turn:04}"


def turn_of(path: str) -> int:
    """Return the turn of a file, from the name of its folder; the first if that names none."""
    folder = path.rpartition("/")[0].rpartition("/")[2]
    found = _FOLDER.fullmatch(folder)
    return int(found["turn"]) if found else FIRST_TURN
