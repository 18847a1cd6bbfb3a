"""Descriptor events, which define the layout of a log: FORMAT_DESCRIPTION and START_V3.

The term is that of MySQL's internals manual. A version 3 log may have neither of them.
"""

from __future__ import annotations

from decoder.constants import HEADER_LENGTH, MAGIC, MAGIC_ENCRYPTED, EventType
from decoder.errors import EncryptedError, NotABinlogError
from decoder.events.cursor import Cursor
from decoder.events.format_description import FormatDescriptionEvent
from decoder.events.header import EventHeader
from decoder.events.layout import V4, first_layout
from decoder.events.start_v3 import StartV3Event, artificial_start

DESCRIPTORS = frozenset({EventType.FORMAT_DESCRIPTION, EventType.START_V3})
"""Events that begin a log, or a segment's preamble."""


def descriptors(version: int) -> frozenset[EventType]:
    """Return the event types that may define the layout of later events in a log of `version`."""
    return DESCRIPTORS if version < V4.version else frozenset({EventType.FORMAT_DESCRIPTION})


def log_start(log: bytes | memoryview) -> int:
    """Return the offset of the first event: after a file's magic number, or 0 in a segment.

    Raises EncryptedError for an encrypted log and NotABinlogError if `log` is not a binary log.
    """
    magic = bytes(log[: len(MAGIC)])
    if magic == MAGIC:
        return len(MAGIC)
    if magic == MAGIC_ENCRYPTED:
        raise EncryptedError("the log is encrypted, and no keys were given", position=0)
    if len(log) > HEADER_LENGTH and log[4] in DESCRIPTORS:
        return 0
    if not log:
        raise NotABinlogError("the log is empty", position=0)
    raise NotABinlogError(
        f"the log starts with {magic.hex(' ')}, not with the magic number fe 62 69 6e", position=0
    )


def describe(body: memoryview, header: EventHeader) -> FormatDescriptionEvent:
    """Read a descriptor event; `body` is everything after the common header.

    Raises BinlogError if it is damaged or of an unsupported version.
    """
    if header.type == EventType.FORMAT_DESCRIPTION:
        return FormatDescriptionEvent.parse(Cursor(body, header))
    if header.type == EventType.START_V3:
        return StartV3Event.parse(Cursor(body, header)).description()
    raise header.malformed("it is neither a FORMAT_DESCRIPTION nor a START_V3")


def descriptor_of(log: bytes, position: int) -> bytes:
    """Return the descriptor event of a log; `log` starts with its first event, at `position`.

    If `log` ends inside the event, it is returned as far as it goes. For a version 3 log without a
    descriptor, an artificial START_V3 is returned. Raises BinlogError if `log` is not a binary log.
    """
    layout = first_layout(log)
    header = EventHeader.parse(memoryview(log), 0, position, layout.version)
    if header.type in DESCRIPTORS:
        return log[: header.size]
    if layout.version == 3:
        return artificial_start()
    raise header.malformed("the log does not start with FORMAT_DESCRIPTION")


def read_descriptor(event: bytes, position: int) -> FormatDescriptionEvent:
    """Read a whole descriptor event; `event` includes the checksum."""
    view = memoryview(event)
    header = EventHeader.parse(view, 0, position, first_layout(event).version)
    return describe(view[header.length : header.size], header)
