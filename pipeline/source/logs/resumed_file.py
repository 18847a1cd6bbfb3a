"""A log file that is reopened if its store replaced it during the read."""

from __future__ import annotations

from contextlib import ExitStack
from functools import partial
from typing import BinaryIO

from decoder.encryption.stream_cipher import StreamCipher
from pipeline.source.logs.storage import opened, read_windows, read_with_retries


class ResumedFile(ExitStack):
    """The log in a file that may be replaced while it is read, as a capture's last one is.

    Reads before and after may then be of different objects: only for callers that verify a checksum
    of everything read.
    """

    def __init__(self, path: str, cipher: StreamCipher | None, codec: str | None) -> None:
        super().__init__()
        self._open = partial(opened, path, cipher, codec)
        self._stream: BinaryIO | None = None

    def read(self, position: int, size: int) -> bytes:
        """Return the `size` bytes at `position` of the log; fewer only at its end.

        Raises OSError if they cannot be read, ArchiveError if they are damaged.
        """
        return read_with_retries(partial(self._read, position, size))

    def _read(self, position: int, size: int) -> bytes:
        try:
            if self._stream is None:
                self._stream = self.enter_context(self._open())
            self._stream.seek(position)
            return b"".join(read_windows(self._stream, size, size))
        except OSError:
            self._stream = None
            self.close()
            raise
