"""A compressed log in a store, to be read like the log inside.

What a file is compressed with is told by its first bytes; only its name is taken from its name. It
is decompressed as it is read, in pieces, so that memory grows neither with the file nor with what
it expands to. There is no way back inside of it but from the beginning, and its length shows only
at its end.
"""

from __future__ import annotations

import io
import os
import re
from typing import Any, BinaryIO

import pyarrow as pa

from decoder import BinlogError
from pipeline.source.logs.gzip_stream import GzipStream

MAGIC_LENGTH = 4
"""Bytes that tell what a file is compressed with."""
_MAGICS = (
    ("gzip", re.compile(rb"\x1f\x8b\x08")),
    # A frame, or one to be skipped: pzstd begins with such.
    ("zstd", re.compile(rb"\x28\xb5\x2f\xfd|[\x50-\x5f]\x2a\x4d\x18")),
    ("lz4", re.compile(rb"\x04\x22\x4d\x18")),
)
_OLD_LZ4 = b"\x02\x21\x4c\x18"
_PACKED = re.compile(r"(?P<log>.+)\.(?:gz|zst|zstd|lz4)", re.IGNORECASE)

_PIECE = 4096
"""Bytes asked of the decompressor at a time: about as many before damage may be lost with it."""
_INPUT = 8192
"""Compressed bytes given to the decompressor at a time: what they hold is lost if they are bad."""
_SKIPPED = 1 << 20


class ArchiveError(BinlogError):
    """A compressed file that is cut short or damaged; `position` is where, in the log inside."""


def log_name(name: str) -> str:
    """The name of the log in a file of that name: without the suffix of what it is packed with."""
    packed = _PACKED.fullmatch(name)
    return packed["log"] if packed else name


def codec_of(magic: bytes) -> str | None:
    """What a file that begins so is compressed with; None where it is not.

    Raises ArchiveError for a format that cannot be read.
    """
    if magic.startswith(_OLD_LZ4):
        raise ArchiveError(
            "it is in LZ4's legacy format (lz4 -l), which is not read; pack it in LZ4's own"
        )
    codec = next((name for name, pattern in _MAGICS if pattern.match(magic)), None)
    if codec is not None and not pa.Codec.is_available(codec):
        raise ArchiveError(
            f"it is compressed with {codec}, for which this build of pyarrow has no codec:"
            " install pyarrow from PyPI"
        )
    return codec


class ArchivedFile(io.RawIOBase):
    """The log in a compressed file; positions count in the log.

    It starts at the log's beginning, and leaves closing `stored` to whoever opened that. What can
    be read before damage is the same whatever is read at a time.
    """

    def __init__(self, stored: BinaryIO, codec: str) -> None:
        self._stored = stored
        self._codec = codec
        self._error: ArchiveError | None = None
        self._begin()

    def readable(self) -> bool:
        """True."""
        return True

    def seekable(self) -> bool:
        """True, though a way back is one from the beginning."""
        return True

    def tell(self) -> int:
        """The position in the log."""
        return self._position

    def seek(self, offset: int, whence: int = os.SEEK_SET) -> int:
        """Go to a position in the log, or to its end if that is before; gives where that is."""
        if whence == os.SEEK_END:
            raise io.UnsupportedOperation("the length of a compressed file's log is not known")
        target = offset if whence == os.SEEK_SET else self._position + offset
        if target < self._position:
            self._begin()
        while self._position < target and self.read(min(target - self._position, _SKIPPED)):
            pass
        return self._position

    def readinto(self, buffer: Any) -> int:
        """Fill the buffer; gives the number of bytes, fewer only at the log's end or at damage.

        Raises ArchiveError where the next byte is damaged or missing.
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
            GzipStream(self._input, _INPUT)
            if self._codec == "gzip"
            else pa.CompressedInputStream(pa.PythonFile(self._input, "r"), self._codec)
        )

    def _damage(self, error: OSError) -> ArchiveError:
        """The decompressor's error as ours; the store's own is raised as it is."""
        if self._input.error is not None:
            raise self._input.error
        if "Truncated" in str(error):
            reason = f"the file ends inside of its {self._codec} data: it was cut short"
        else:
            reason = f"its {self._codec} data cannot be decompressed from here on ({error})"
        return ArchiveError(reason, position=self._position)


class _Input(io.RawIOBase):
    """The compressed bytes, a few at a time; `error` is what the store said, if it failed."""

    def __init__(self, stored: BinaryIO) -> None:
        self._stored = stored
        self.error: OSError | None = None

    def readable(self) -> bool:
        """True."""
        return True

    def read(self, size: int = -1) -> bytes:
        """The next bytes."""
        try:
            return self._stored.read(min(size, _INPUT) if size >= 0 else _INPUT)
        except OSError as error:
            self.error = error
            raise
