"""Errors of the decoder: one root, so that a caller needs to catch only `BinlogError`.

Every error carries where it happened as fields; `str()` is one sentence that names them.
`file` and `event_type` are often unknown where a byte is read, and are added on the way up
with `at`, which never overwrites what is already known.
"""

from __future__ import annotations


class BinlogError(Exception):
    """Bytes that are not a binary log as MySQL or MariaDB write it.

    Fields: `reason`, a sentence; `file`, its name; `position`, the byte offset in the file of the
    event at fault; `event_type`, that event's name; `table`, `schema.table` where it is known.
    """

    def __init__(
        self,
        reason: str,
        *,
        file: str | None = None,
        position: int | None = None,
        event_type: str | None = None,
        table: str | None = None,
    ) -> None:
        super().__init__(reason)
        self.reason = reason
        self.file = file
        self.position = position
        self.event_type = event_type
        self.table = table

    def at(
        self,
        *,
        file: str | None = None,
        position: int | None = None,
        event_type: str | None = None,
        table: str | None = None,
    ) -> BinlogError:
        """The same error with the fields that were still unknown filled in; for `raise … from`."""
        self.file = self.file if self.file is not None else file
        self.position = self.position if self.position is not None else position
        self.event_type = self.event_type if self.event_type is not None else event_type
        self.table = self.table if self.table is not None else table
        return self

    def kept(self) -> BinlogError:
        """Return the same error without its traceback, to be stored after it was caught.

        The traceback's frames hold the buffers that were being read, and often the error itself: a
        reference cycle, which only the garbage collector would free.
        """
        return self.with_traceback(None)

    def __str__(self) -> str:
        where = [
            text
            for value, text in (
                (self.file, f"{self.file}"),
                (self.position, f"position {self.position}"),
                (self.event_type, f"{self.event_type}"),
                (self.table, f"table {self.table}"),
            )
            if value is not None
        ]
        return f"{', '.join(where)}: {self.reason}" if where else self.reason

    def __reduce__(self) -> tuple[object, tuple[object, ...]]:
        """Spark sends errors between processes by pickle, which would lose keyword fields."""
        fields = (self.reason, self.file, self.position, self.event_type, self.table)
        return _restore, (type(self), *fields)


def _restore(
    kind: type[BinlogError],
    reason: str,
    file: str | None,
    position: int | None,
    event_type: str | None,
    table: str | None,
) -> BinlogError:
    return kind(reason, file=file, position=position, event_type=event_type, table=table)


class NotABinlogError(BinlogError):
    """The first bytes are not a binary log's magic number (0xfe 62 69 6e)."""


class EncryptedError(BinlogError):
    """The file is encrypted (magic number 0xfd 62 69 6e), and no key that was given opens it."""


class ChecksumError(BinlogError):
    """An event's CRC32 does not match its bytes."""


class TruncatedError(BinlogError):
    """The bytes end inside an event."""


class MalformedError(BinlogError):
    """A length, count or code in an event contradicts the rest of it."""


class UnsupportedError(BinlogError):
    """An event, column type or option that is valid but not decoded (yet)."""
