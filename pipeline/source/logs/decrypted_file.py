"""Encrypted log files, read like the log inside."""

from __future__ import annotations

import io
import os
from typing import Any, BinaryIO

from decoder.encryption.header import HEADER_LENGTH
from decoder.encryption.stream_cipher import StreamCipher


class DecryptedFile(io.RawIOBase):
    """The log in an encrypted file, decrypted while it is read; positions are in the log.

    Position 0 is the first byte after the encryption header. Does not close `stored`.
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
        """Move to a position in the log and return it."""
        before = HEADER_LENGTH if whence == os.SEEK_SET else 0
        return self._stored.seek(before + offset, whence) - HEADER_LENGTH

    def tell(self) -> int:
        """Return the position in the log."""
        return self._stored.tell() - HEADER_LENGTH

    def readinto(self, buffer: Any) -> int:
        """Fill the buffer and return the number of bytes; fewer only at the log's end."""
        position = self.tell()
        data = self._cipher.decrypt(self._stored.read(len(buffer)), position)
        buffer[: len(data)] = data
        return len(data)
