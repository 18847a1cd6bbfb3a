"""A log in a store, read on where it was opened anew."""

from __future__ import annotations

from contextlib import ExitStack
from functools import partial
from types import TracebackType
from typing import BinaryIO

from decoder.encryption.stream_cipher import StreamCipher
from pipeline.bronze.storage import opened, read_anew, read_windows


class ResumedFile:
    """The log in a file that may be put anew while it is read, as a capture's last one is.

    What was read before may then be of another object than what is read after. So it is only for
    those who have a sum of all of it.
    """

    def __init__(self, path: str, cipher: StreamCipher | None, codec: str | None) -> None:
        self._open = partial(opened, path, cipher, codec)
        self._stream: BinaryIO | None = None
        self._opened = ExitStack()

    def __enter__(self) -> ResumedFile:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        self._close()

    def read(self, position: int, size: int) -> bytes:
        """The `size` bytes at `position` of the log; fewer only where it ends.

        Raises OSError where they cannot be read, ArchiveError where they are damaged.
        """
        return read_anew(partial(self._read, position, size))

    def _read(self, position: int, size: int) -> bytes:
        try:
            if self._stream is None:
                self._stream = self._opened.enter_context(self._open())
            self._stream.seek(position)
            return b"".join(read_windows(self._stream, size, size))
        except OSError:
            self._close()
            raise

    def _close(self) -> None:
        self._stream = None
        self._opened.close()
