"""A log in a store, read on where it was opened anew."""

from __future__ import annotations

from contextlib import ExitStack
from functools import partial
from typing import BinaryIO

from decoder.encryption.stream_cipher import StreamCipher
from pipeline.source.logs.storage import opened, read_anew, read_windows


class ResumedFile(ExitStack):
    """The log in a file that may be put anew while it is read, as a capture's last one is.

    What was read before may then be of another object than what is read after. So it is only for
    those who have a sum of all of it.
    """

    def __init__(self, path: str, cipher: StreamCipher | None, codec: str | None) -> None:
        super().__init__()
        self._open = partial(opened, path, cipher, codec)
        self._stream: BinaryIO | None = None

    def read(self, position: int, size: int) -> bytes:
        """The `size` bytes at `position` of the log; fewer only where it ends.

        Raises OSError where they cannot be read, ArchiveError where they are damaged.
        """
        return read_anew(partial(self._read, position, size))

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
