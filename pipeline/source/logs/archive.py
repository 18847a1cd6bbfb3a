"""Compressed log files, read like the log inside.

The codec is detected by the file's first bytes, not by its suffix. The file is decompressed in
pieces while it is read, so memory grows neither with its compressed nor with its expanded size.
Seeking backwards starts again from the beginning, and the log's length is only known at its end.
"""

from __future__ import annotations

import io
import os
import re
import zlib
from typing import Any, BinaryIO

import pyarrow as pa

from decoder import BinlogError

MAGIC_LENGTH = 4
"""Bytes from which the codec is detected."""
_MAGICS = (
    ("gzip", re.compile(rb"\x1f\x8b\x08")),
    # A frame or a skippable frame, with which pzstd begins.
    ("zstd", re.compile(rb"\x28\xb5\x2f\xfd|[\x50-\x5f]\x2a\x4d\x18")),
    ("lz4", re.compile(rb"\x04\x22\x4d\x18")),
)
_OLD_LZ4 = b"\x02\x21\x4c\x18"
_PACKED = re.compile(r"(?P<log>.+)\.(?:gz|zst|zstd|lz4)", re.IGNORECASE)

_PIECE = 4096
"""Bytes decompressed at a time; about as many before a damaged byte may be lost."""
_INPUT = 8192
"""Compressed bytes passed to the decompressor at a time; lost as a whole if any is damaged."""
_SKIPPED = 1 << 20
_WITH_HEADER = 16 + zlib.MAX_WBITS


class ArchiveError(BinlogError):
    """A compressed file is truncated or damaged, at `position` of the log inside."""


def log_name(name: str) -> str:
    """Return a file's name without the suffix of its compression."""
    packed = _PACKED.fullmatch(name)
    return packed["log"] if packed else name


def codec_of(magic: bytes) -> str | None:
    """Return the codec of a file from its first bytes; None if it is not compressed.

    Raises ArchiveError if the format is not supported.
    """
    if magic.startswith(_OLD_LZ4):
        raise ArchiveError(
            "it is in LZ4's legacy format (lz4 -l), which is not supported; compress it in LZ4's"
            " frame format"
        )
    codec = next((name for name, pattern in _MAGICS if pattern.match(magic)), None)
    if codec is not None and not pa.Codec.is_available(codec):
        raise ArchiveError(
            f"it is compressed with {codec}, which this build of pyarrow does not support:"
            " install pyarrow from PyPI"
        )
    return codec


class ArchivedFile(io.RawIOBase):
    """The log in a compressed file; positions are in the log.

    Does not close `stored`. The number of bytes that can be read before a damaged one does not
    depend on the size of the reads.
    """

    def __init__(self, stored: BinaryIO, codec: str) -> None:
        self._stored = stored
        self._codec = codec
        self._error: ArchiveError | None = None
        self._begin()

    def readable(self) -> bool:
        """Return True: the log inside can be read."""
        return True

    def seekable(self) -> bool:
        """Return True: seeking backwards decompresses from the beginning."""
        return True

    def tell(self) -> int:
        """Return the position in the log."""
        return self._position

    def seek(self, offset: int, whence: int = os.SEEK_SET) -> int:
        """Move to a position in the log, at most to its end, and return the position reached."""
        if whence == os.SEEK_END:
            raise io.UnsupportedOperation("the length of a compressed file's log is not known")
        target = offset if whence == os.SEEK_SET else self._position + offset
        if target < self._position:
            self._begin()
        while self._position < target and self.read(min(target - self._position, _SKIPPED)):
            pass
        return self._position

    def readinto(self, buffer: Any) -> int:
        """Fill the buffer and return the number of bytes; fewer only at the log's end or at damage.

        Raises ArchiveError if the next byte is damaged or missing.
        """
        if self._error is not None:
            raise self._error
        filled = 0
        while filled < len(buffer):
            try:
                piece = self._log.read(min(len(buffer) - filled, _PIECE))
            except OSError as error:
                self._error = self._damage(error)
                break
            if not piece:
                break
            buffer[filled : filled + len(piece)] = piece
            filled += len(piece)
            self._position += len(piece)
        if self._error is not None and not filled:
            raise self._error
        return filled

    def _begin(self) -> None:
        self._stored.seek(0)
        self._position = 0
        self._error = None
        self._input = _Input(self._stored)
        self._log: Any = (
            _GzipStream(self._input)
            if self._codec == "gzip"
            else pa.CompressedInputStream(pa.PythonFile(self._input, "r"), self._codec)
        )

    def _damage(self, error: OSError) -> ArchiveError:
        """Return the decompressor's error as an ArchiveError; raise the store's own unchanged."""
        if self._input.error is not None:
            raise self._input.error
        if "Truncated" in str(error):
            reason = f"the file ends within its {self._codec} data: it is truncated"
        else:
            reason = f"its {self._codec} data cannot be decompressed from here on ({error})"
        return ArchiveError(reason, position=self._position)


class _Input(io.RawIOBase):
    """The compressed bytes, in small reads; `error` is the store's error, if it failed."""

    def __init__(self, stored: BinaryIO) -> None:
        self._stored = stored
        self.error: OSError | None = None

    def readable(self) -> bool:
        """Return True: the bytes can be read."""
        return True

    def read(self, size: int = -1) -> bytes:
        """Read the next bytes."""
        try:
            return self._stored.read(min(size, _INPUT) if size >= 0 else _INPUT)
        except OSError as error:
            self.error = error
            raise


class _GzipStream:
    """The content of a gzip stream; `read` raises OSError if it is damaged or truncated.

    Like gzip itself, it reads several members and ignores zero padding: tapes and block stores pad
    files with zeros, which Arrow's decompressor takes for a damaged member.
    """

    def __init__(self, stored: _Input) -> None:
        self._stored = stored
        self._member = zlib.decompressobj(_WITH_HEADER)
        self._rest = b""
        self._ready = b""

    def read(self, size: int) -> bytes:
        """Return up to `size` of the next bytes; empty at the end."""
        if not self._ready:
            self._ready = self._next()
        piece, self._ready = self._ready[:size], self._ready[size:]
        return piece

    def _next(self) -> bytes:
        """Decompress the next bytes; empty at the end."""
        while not self._member.eof or self._begin_member():
            data = self._rest or self._stored.read()
            try:
                found = self._member.decompress(data, _PIECE)
            except zlib.error as error:
                raise OSError(str(error)) from error
            self._rest = self._member.unused_data or self._member.unconsumed_tail
            if found:
                return found
            if not data and not self._member.eof:
                raise OSError("Truncated gzip member")
        return b""

    def _begin_member(self) -> bool:
        """Skip padding and start the next member; return False if none follows."""
        self._rest = self._rest.lstrip(b"\0")
        while not self._rest:
            data = self._stored.read()
            if not data:
                return False
            self._rest = data.lstrip(b"\0")
        self._member = zlib.decompressobj(_WITH_HEADER)
        return True
