"""A gzip decompressor that, like gzip itself, reads several members and ignores zero padding.

Tapes and block stores pad files with zeros. Arrow's decompressor takes these for a damaged member.
"""

from __future__ import annotations

import io
import zlib

_WITH_HEADER = 16 + zlib.MAX_WBITS
_PIECE = 4096
"""Bytes decompressed at a time, whatever the size of the read: damage loses no more than that."""


class GzipStream:
    """The content of a gzip stream; `read` raises OSError if it is damaged or truncated."""

    def __init__(self, stored: io.RawIOBase, window: int) -> None:
        self._stored = stored
        self._window = window
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
            data = self._rest or self._stored.read(self._window) or b""
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
            data = self._stored.read(self._window)
            if not data:
                return False
            self._rest = data.lstrip(b"\0")
        self._member = zlib.decompressobj(_WITH_HEADER)
        return True
