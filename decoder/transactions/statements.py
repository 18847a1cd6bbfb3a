"""QUERY events as rows of `statements`, and detection of DML that is logged as a statement.

A row-based log contains DML as rows events; if the statement is logged instead
(`binlog_format=STATEMENT`, or MIXED), the rows that it changed are not in the log.
"""

from __future__ import annotations

import re
from typing import Any

import pyarrow as pa

from decoder.columns.arrays import nullable_integers, strings
from decoder.columns.charsets import charset_of
from decoder.constants import EventFlag
from decoder.errors import UnsupportedError
from decoder.events.query import QueryEvent
from decoder.model import schemas

_SPACE = r"\s|/\*(?!!).*?\*/|--[^\n]*\n|\#[^\n]*\n"
_IGNORED = rf"(?:{_SPACE}|/\*!\d*|\*/|\()*"
_SETTINGS = r"(?:set\s+statement\b.*?\bfor\b)?"
"""MariaDB's SET STATEMENT, which applies to the statement after it only."""
_DML = re.compile(
    rf"{_IGNORED}{_SETTINGS}{_IGNORED}"
    r"(?:insert|update|delete|replace|load|call|with|select|do|handler|import)\b",
    re.IGNORECASE | re.DOTALL,
)
# The server may have ignored the content of a versioned comment, so it is not searched here.
_DDL = re.compile(
    rf"(?:{_SPACE})*(?:create|alter|drop|truncate|rename|grant|revoke|analyze|optimize|repair|flush"
    r"|set|install|uninstall|reset|release|xa|lock|unlock|use|change|start|stop|check|cache)\b",
    re.IGNORECASE | re.DOTALL,
)
_CHANGES_TABLES = re.compile(
    # The words of `decoder.stream.excerpt` too. After a comment it may be any word: the server's
    # version decides which comments are code. The word may directly follow it (`/*!80000CREATE`).
    r"\s*(?:(?:/\*|--|\#|set\s+statement\b).*)?(?:create|alter|drop|rename|truncate)\b",
    re.IGNORECASE | re.DOTALL,
)
_SAVEPOINT = re.compile(
    _IGNORED + r"(?:savepoint|rollback\s+(?:work\s+)?to(?:\s+savepoint)?)\s+(.*)",
    re.IGNORECASE | re.DOTALL,
)
_SHORTENED_LENGTH = 120


def is_dml(query: str, *, in_transaction: bool) -> bool:
    """Return True if a statement may change rows: DML, or after a BEGIN all but known DDL."""
    if _DML.match(query):
        return True
    return in_transaction and not _DDL.match(query)


def may_change_tables(query: str) -> bool:
    """Return True if the statement may change tables, by its first word; no false negatives."""
    return _CHANGES_TABLES.match(query) is not None


def savepoint_name(query: str) -> str:
    """Return the name in SAVEPOINT or ROLLBACK TO in lower case, as names are case-insensitive."""
    match = _SAVEPOINT.match(query)
    name = (match[1] if match else query).strip("; \t\r\n")
    quote = name[:1]
    if quote in ("`", '"') and name.endswith(quote) and len(name) > 1:
        name = name[1:-1].replace(2 * quote, quote)
    return name.lower()


def shortened(query: str) -> str:
    """Return the start of a statement, for a message."""
    text = " ".join(query[: 2 * _SHORTENED_LENGTH].split())
    return text if len(text) <= _SHORTENED_LENGTH else text[:_SHORTENED_LENGTH] + "…"


class StatementLog:
    """The statements of a segment that have not been taken yet.

    `schema_changes` counts all statements so far that may have changed tables.
    """

    def __init__(self, file: str) -> None:
        self._file = file
        self._rows: list[dict[str, Any]] = []
        self.schema_changes = 0

    def __len__(self) -> int:
        return len(self._rows)

    def truncate(self, length: int) -> None:
        """Forget all but the first `length` statements."""
        del self._rows[length:]

    def add(self, event: QueryEvent, *, lsn: int, gtid: str | None, committed_at: int) -> None:
        """Add a statement; `committed_at` is its transaction's, −1 if it is not logged."""
        self.schema_changes += may_change_tables(event.query)
        status = event.status
        began = event.timestamp * 1_000_000
        fraction = status.microseconds if status.microseconds is not None else status.hrnow
        ddl_xid = status.ddl_xid if status.ddl_xid is not None else status.xid
        self._rows.append(
            {
                "__lsn": lsn,
                "__pos": event.position,
                "file": self._file,
                "committed_at": committed_at if committed_at >= 0 else began,
                "gtid": gtid,
                "schema": event.schema or None,
                "query": event.query,
                "error_code": event.error_code,
                "thread_id": event.thread_id,
                "sql_mode": _signed(status.sql_mode),
                "charset": _charset(status.client_collation),
                "connection_charset": _charset(status.connection_collation),
                "server_charset": _charset(status.server_collation),
                "time_zone": status.time_zone,
                "executed_at": began + (fraction or 0),
                "ddl_xid": _signed(ddl_xid),
                "explicit_defaults_for_timestamp": status.explicit_defaults_for_timestamp,
                "thread_specific": bool(event.flags & EventFlag.THREAD_SPECIFIC),
            }
        )

    def take(self) -> pa.RecordBatch | None:
        """Return the statements since the last call; None if there are none."""
        if not self._rows:
            return None
        columns = [
            _column([row[field.name] for row in self._rows], field.type)
            for field in schemas.STATEMENTS
        ]
        self._rows = []
        return pa.RecordBatch.from_arrays(columns, schema=schemas.STATEMENTS)


def _column(values: list[Any], kind: pa.DataType) -> pa.Array:
    return strings(values) if pa.types.is_string(kind) else nullable_integers(values, kind)


def _signed(value: int | None) -> int | None:
    """Convert an unsigned 64-bit number to the signed one with the same bits."""
    return value - (1 << 64) if value is not None and value >> 63 else value


def _charset(collation: int | None) -> str | None:
    try:
        return None if collation is None else charset_of(collation)
    except UnsupportedError:
        return None
