"""The thread that takes what a server sends, while another one lands it."""

from __future__ import annotations

from contextlib import suppress

from pipeline.source.capture.byte_queue import ByteQueue, ClosedError
from pipeline.source.capture.dump_connection import DumpConnection
from pipeline.source.capture.dump_items import LogBytes, Received
from pipeline.source.capture.dump_stream import DumpStream

_SMALL = 64
"""Bytes that an item without data counts in the queue."""


def read_into(dump: DumpConnection, queue: ByteQueue[Received]) -> None:
    """Put what the server sends into the queue, until it ends or nobody takes it: with the error
    that ended it."""
    stream = DumpStream()
    with suppress(ClosedError):
        try:
            while True:
                for item in stream.received(dump.receive_into(stream.room())):
                    queue.put(item, len(item.data) if isinstance(item, LogBytes) else _SMALL)
        except ClosedError:
            raise
        except Exception as error:
            queue.end(error)
