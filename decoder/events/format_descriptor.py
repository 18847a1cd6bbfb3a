"""What says how a log's events are laid out: its FORMAT_DESCRIPTION, its START_V3, or neither.

(MySQL's internals manual calls the first two descriptor events.)
"""

from __future__ import annotations

from collections.abc import Callable

from decoder.constants import HEADER_LENGTH, MAGIC, MAGIC_ENCRYPTED, EventType
from decoder.errors import EncryptedError, MalformedError, NotABinlogError
from decoder.events.format_description import FormatDescriptionEvent
from decoder.events.header import EventHeader
from decoder.events.layout import V4, first_layout
from decoder.events.start_v3 import StartV3Event, artificial_start

DESCRIPTORS = frozenset({EventType.FORMAT_DESCRIPTION, EventType.START_V3})
"""Events that begin a log, or a segment's preamble."""


def descriptors(version: int) -> frozenset[EventType]:
    """Those that may say, in a log of that version, how the events behind them are laid out."""
    return DESCRIPTORS if version < V4.version else frozenset({EventType.FORMAT_DESCRIPTION})


def log_start(log: bytes | memoryview) -> int:
    """Where the first event of a file stands: behind the magic number, or at once in a segment.

    Raises NotABinlogError or EncryptedError where there is none.
    """
    magic = bytes(log[: len(MAGIC)])
    if magic == MAGIC:
        return len(MAGIC)
    if magic == MAGIC_ENCRYPTED:
        raise EncryptedError("the log is encrypted, and no key was given", position=0)
    if len(log) > HEADER_LENGTH and log[4] in DESCRIPTORS:
        return 0
    if not log:
        raise NotABinlogError("it is empty", position=0)
    raise NotABinlogError(
        f"it starts with {magic.hex(' ')}, not with a binary log's fe 62 69 6e", position=0
    )


def describe(body: memoryview, header: EventHeader) -> FormatDescriptionEvent:
    """What a descriptor event says; `body` is everything after the common header.

    Raises BinlogError for one that is damaged or of a version that is not known.
    """
    read = _READERS.get(header.type)
    if read is None:
        raise header.malformed("it does not say how a log's events are laid out")
    return read(body, header)


def descriptor_of(log: bytes, position: int) -> bytes:
    """The descriptor event of a log: `log` from its first event on, which is at `position`.

    Where `log` ends inside of it, as much as there is. For a version 3 log that has none it is
    made. Raises BinlogError for what is no log.
    """
    layout = first_layout(log)
    header = EventHeader.parse(memoryview(log), 0, position, layout.version)
    if header.type in DESCRIPTORS:
        return log[: header.size]
    if layout.version == 3:
        return artificial_start()
    raise MalformedError(
        "the log does not start with FORMAT_DESCRIPTION",
        position=header.position,
        event_type=header.name,
    )


def read_descriptor(event: bytes, position: int) -> FormatDescriptionEvent:
    """What a whole descriptor event says, its checksum included in `event`."""
    view = memoryview(event)
    header = EventHeader.parse(view, 0, position, first_layout(event).version)
    return describe(view[header.length : header.size], header)


def _format(body: memoryview, header: EventHeader) -> FormatDescriptionEvent:
    return FormatDescriptionEvent.parse(body, header, None)


def _start(body: memoryview, header: EventHeader) -> FormatDescriptionEvent:
    return StartV3Event.parse(body, header, None).description()


_READERS: dict[int, Callable[[memoryview, EventHeader], FormatDescriptionEvent]] = {
    EventType.FORMAT_DESCRIPTION: _format,
    EventType.START_V3: _start,
}
