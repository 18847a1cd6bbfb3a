"""The thread that receives the dump while another one lands it."""

from __future__ import annotations

from contextlib import suppress

from pipeline.source.capture.byte_queue import ByteQueue, ClosedError
from pipeline.source.capture.dump_connection import DumpConnection
from pipeline.source.capture.dump_items import LogBytes, Received
from pipeline.source.capture.dump_stream import DumpStream

_SMALL = 64
"""Size in bytes that the queue assumes for an item without data."""


def read_into(dump: DumpConnection, queue: ByteQueue[Received]) -> None:
    """Put the dump's items into the queue until it fails or the queue is closed.

    The error that ended the dump ends the queue.
    """
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
