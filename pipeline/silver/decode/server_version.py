"""The version of the server that wrote a log, from the log's first event."""

from __future__ import annotations

from decoder.constants import MAGIC
from decoder.events.format_descriptor import DESCRIPTORS
from decoder.events.layout import first_layout
from decoder.events.start_v3 import artificial_start


def server_version(head: bytes) -> str:
    """Return the server's version from a log's first bytes.

    Layout: magic number 4 (optional), header 19 (13 in version 1), binlog version u16, then 50
    bytes of text.
    """
    log = head.removeprefix(MAGIC)
    if log[4] not in DESCRIPTORS:
        log = artificial_start()
    start = first_layout(log).header_length + 2
    return log[start : start + 50].split(b"\0", 1)[0].decode("ascii", "replace")
