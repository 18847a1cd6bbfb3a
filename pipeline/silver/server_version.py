"""Which server wrote a log: what its first event says, and what that is as a number."""

from __future__ import annotations

import re

from decoder.constants import MAGIC
from decoder.descriptor import DESCRIPTORS
from decoder.events.start_v3 import artificial_start
from decoder.layout import first_layout

_VERSION = re.compile(r"(\d+)\.(\d+)\.(\d+)")
_MARIADB_PREFIX = "5.5.5-"
"""What MariaDB puts before its version, for clients that know none above 5."""


def server_version(head: bytes) -> str:
    """The server's version as the first event of a log has it, from the log's first bytes.

    Layout: magic number 4 (if at all), header 19 (13 in version 1), binlog version u16, then 50
    bytes of text.
    """
    log = head.removeprefix(MAGIC)
    if log[4] not in DESCRIPTORS:
        log = artificial_start()
    start = first_layout(log).header_length + 2
    return log[start : start + 50].split(b"\0", 1)[0].decode("ascii", "replace")


def server_number(version: str) -> tuple[int | None, bool]:
    """MySQL's number for a version (`8.0.45-log` is 80045), and whether it is MariaDB's."""
    mariadb = "mariadb" in version.lower()
    match = _VERSION.match(version.removeprefix(_MARIADB_PREFIX) if mariadb else version)
    if match is None:
        return None, mariadb
    major, minor, patch = map(int, match.groups())
    return major * 10000 + minor * 100 + patch, mariadb
