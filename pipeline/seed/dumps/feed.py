"""Read a dump's file, compressed or not, through a buffer that moves along it."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import BinaryIO

import numpy as np

from decoder import BinlogError
from decoder.columns import SLACK
from pipeline.lake.stores import error_text
from pipeline.seed.errors import DumpError
from pipeline.source.logs.archive import MAGIC_LENGTH, codec_of
from pipeline.source.logs.storage import opened

WINDOW = 4 << 20
"""Bytes read at a time."""
_PADDING = 3
_LARGEST = (1 << 31) - (1 << 20)
"""Bytes of the longest row, since positions are int32."""


class DumpBuffer:
    """A buffer whose bytes from `at` to `end` are read and not yet consumed.

    `offset`: the position of the buffer's start in the file, after decompression if `compressed`.
    """

    def __init__(
        self, path: str, stream: BinaryIO, size: int | None, offset: int, *, compressed: bool
    ) -> None:
        self.path = path
        self.compressed = compressed
        self._stream = stream
        self._left = size
        self.offset = offset
        self.buffer = np.zeros(WINDOW + SLACK, np.uint8)
        self.at = 0
        self.end = 0
        self._padded = False

    @property
    def position(self) -> int:
        """The position of `at` in the file, after decompression."""
        return self.offset + self.at

    def more(self) -> bool:
        """Read more bytes, moving the unconsumed ones; False at the end of the file."""
        kept = self.end - self.at
        room = len(self.buffer) - SLACK
        if kept > room // 2:
            if room >= _LARGEST:
                raise DumpError(
                    self.path,
                    f"the row or statement at byte {self.position} is longer than {_LARGEST} bytes",
                    remedy="Seed the tables of this dump from the server.",
                )
            room = min(2 * room, _LARGEST)
        target = (
            np.zeros(room + SLACK, np.uint8) if room + SLACK > len(self.buffer) else self.buffer
        )
        target[:kept] = self.buffer[self.at : self.end].copy()
        self.buffer = target
        self.offset += self.at
        self.at, self.end = 0, kept
        return self._fill(room)

    def padded(self) -> bool:
        """Append line ends after the file's last byte, once; False if already appended."""
        if self._padded:
            return False
        self._padded = True
        self.buffer[self.end : self.end + _PADDING] = ord("\n")
        self.end += _PADDING
        return True

    def ahead(self, size: int) -> bytes:
        """Return the next `size` bytes, or fewer at the end, without consuming them."""
        while self.end - self.at < size and self.more():
            pass
        return self.buffer[self.at : min(self.end, self.at + size)].tobytes()

    def _fill(self, room: int) -> bool:
        wanted = min(room - self.end, WINDOW)
        if self._left is not None:
            wanted = min(wanted, self._left)
        try:
            data = self._stream.read(wanted) if wanted else b""
        except (OSError, BinlogError) as error:
            raise unreadable(self.path, error) from error
        if self._left is not None:
            self._left -= len(data)
        self.buffer[self.end : self.end + len(data)] = np.frombuffer(data, np.uint8)
        self.end += len(data)
        return bool(data)


def unreadable(path: str, error: Exception) -> DumpError:
    """Return the DumpError for a storage or decompression error."""
    reason = str(error) if isinstance(error, BinlogError) else error_text(error)
    return DumpError(path, f"it cannot be read: {reason}", remedy="Check the file and its storage.")


@contextmanager
def fed(path: str, start: int = 0, size: int | None = None) -> Iterator[DumpBuffer]:
    """Open a feed of `size` bytes (None: all) of a file from `start` on. Raises DumpError."""
    try:
        codec = codec_in(path)
        with opened(path, codec=codec, ahead=WINDOW) as stream:
            stream.seek(start)
            yield DumpBuffer(path, stream, size, start, compressed=codec is not None)
    except (OSError, BinlogError) as error:
        raise unreadable(path, error) from error


def codec_in(path: str) -> str | None:
    """Return a file's compression codec, by its first bytes; None if it is not compressed."""
    with opened(path, ahead=MAGIC_LENGTH) as stream:
        return codec_of(stream.read(MAGIC_LENGTH))


def content(path: str) -> bytes:
    """Return the content of a small file, decompressed. Raises DumpError."""
    with fed(path) as feed:
        while feed.more():
            pass
        return feed.buffer[: feed.end].tobytes()
