"""An encrypted log in a store, to be read like the log that it holds."""

from __future__ import annotations

import io
import os
from typing import Any, BinaryIO

from decoder.encryption.header import HEADER_LENGTH
from decoder.encryption.stream_cipher import StreamCipher


class DecryptedFile(io.RawIOBase):
    """What is behind the encryption header, decrypted as it is read; positions count from there.

    It starts at the log's beginning, and leaves closing `stored` to whoever opened that.
    """

    def __init__(self, stored: BinaryIO, cipher: StreamCipher) -> None:
        self._stored = stored
        self._cipher = cipher
        self.seek(0)

    def readable(self) -> bool:
        """True."""
        return True

    def seekable(self) -> bool:
        """True."""
        return True

    def seek(self, offset: int, whence: int = os.SEEK_SET) -> int:
        """Go to a position in the log; gives it."""
        before = HEADER_LENGTH if whence == os.SEEK_SET else 0
        return self._stored.seek(before + offset, whence) - HEADER_LENGTH

    def tell(self) -> int:
        """The position in the log."""
        return self._stored.tell() - HEADER_LENGTH

    def readinto(self, buffer: Any) -> int:
        """Fill the buffer; gives the number of bytes, fewer only at the log's end."""
        position = self.tell()
        data = self._cipher.decrypt(self._stored.read(len(buffer)), position)
        buffer[: len(data)] = data
        return len(data)
