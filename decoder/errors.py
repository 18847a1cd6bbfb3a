"""The decoder's errors, all subclasses of `BinlogError`.

Every error has its location as fields, which `str()` puts before the reason. The code that reads a
byte often does not know `file` and `event_type`: its callers add them with `at`, which never
overwrites a field that is already set.
"""

from __future__ import annotations


class BinlogError(Exception):
    """Input that is not a binary log as MySQL or MariaDB writes it, or that cannot be decoded.

    Fields: `reason`, without the location; `file`, the file's name; `position`, the faulty event's
    byte offset in the file; `event_type`, its name; `table`, as `schema.table`. Unknown: None.
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
        """Fill in the fields that are still None; return the error, for `raise … from`."""
        self.file = self.file if self.file is not None else file
        self.position = self.position if self.position is not None else position
        self.event_type = self.event_type if self.event_type is not None else event_type
        self.table = self.table if self.table is not None else table
        return self

    def kept(self) -> BinlogError:
        """Drop the traceback and return the error, so that it can be stored.

        The traceback's frames reference the buffers being read and often the error itself: a
        reference cycle that only the garbage collector would free.
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


class NotABinlogError(BinlogError):
    """A file that does not start with a binary log's magic number (fe 62 69 6e)."""


class EncryptedError(BinlogError):
    """An encrypted file (magic number fd 62 69 6e) that none of the given keys decrypts."""


class ChecksumError(BinlogError):
    """An event whose CRC32 does not match its bytes."""


class TruncatedError(BinlogError):
    """Input that ends inside an event."""


class MalformedError(BinlogError):
    """An event in which a length, count or code contradicts the rest."""


class UnsupportedError(BinlogError):
    """A valid event, column type or option that the decoder does not support."""
