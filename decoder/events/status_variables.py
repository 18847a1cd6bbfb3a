"""The status variables of a QUERY event: the session in which the statement ran.

Format: MySQL `statement_events.h`, `Query_event`, and for codes from 128 on MariaDB
`sql/log_event.h`: a u8 code and its value, repeated. Values carry no length, so reading ends at the
first unknown code; the rest is kept as `unread`. (MariaDB pads with 255, which is such a code.)
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from decoder.events.cursor import Cursor

_MAX_UPDATED_SCHEMAS = 16
_ENDS_ALTER = 0x4 | 0x8


@dataclass(frozen=True, slots=True)
class StatusVariables:
    """The session's variables; None if not logged, because of the server's version or a default."""

    flags2: int | None = None
    """0, u32: session options (autocommit, foreign_key_checks, unique_checks, sql_auto_is_null)."""
    sql_mode: int | None = None
    """1, u64."""
    catalog: str | None = None
    """6, u8 length and text; 2 in 5.0.0 to 5.0.3, followed by a zero byte."""
    auto_increment_increment: int | None = None
    """3, u16."""
    auto_increment_offset: int | None = None
    """3, u16 after the increment."""
    client_collation: int | None = None
    """4, u16: collation id of character_set_client, the charset of the statement's text."""
    connection_collation: int | None = None
    """4, u16 after the client's."""
    server_collation: int | None = None
    """4, u16 after the connection's."""
    time_zone: str | None = None
    """5, u8 length and text."""
    lc_time_names: int | None = None
    """7, u16: number of the locale."""
    schema_collation: int | None = None
    """8, u16: collation_database."""
    table_map_for_update: int | None = None
    """9, u64: which tables of a multi-table UPDATE are written."""
    master_data_written: int | None = None
    """10, u32: only in relay logs of 5.x."""
    invoker_user: str | None = None
    """11, u8 length and text."""
    invoker_host: str | None = None
    """11, u8 length and text after the user."""
    updated_schemas: tuple[str, ...] | None = None
    """12, u8 count and as many zero-terminated names; also None for more than 16."""
    microseconds: int | None = None
    """13, u24: to be added to the header's timestamp."""
    explicit_defaults_for_timestamp: bool | None = None
    """16, u8."""
    ddl_xid: int | None = None
    """17, u64: the XID of an atomic DDL statement."""
    default_collation_for_utf8mb4: int | None = None
    """18, u16: collation id."""
    sql_require_primary_key: int | None = None
    """19, u8."""
    default_table_encryption: int | None = None
    """20, u8."""
    enable_cascade_triggers: int | None = None
    """21, u8."""
    hrnow: int | None = None
    """128, u24: MariaDB's microseconds."""
    xid: int | None = None
    """129, u64: MariaDB's XID of a DDL statement."""
    gtid_flags_extra: int | None = None
    """130, u8: MariaDB's extra flags of the statement's GTID."""
    start_alter_number: int | None = None
    """130, u64 after the flags if bit 2 or 3 is set: the START ALTER that this statement ends."""
    character_set_collations: tuple[tuple[int, int], ...] | None = None
    """131, u8 count; for each a u16 default collation and the u16 collation used instead of it."""
    unread: bytes = b""
    """The bytes from the first unknown code on."""


def parse_status_variables(cursor: Cursor) -> StatusVariables:
    """Read the variables up to the cursor's end."""
    values: dict[str, Any] = {}
    while cursor.remaining:
        code = cursor.u8()
        if code not in _READERS:
            values["unread"] = bytes([code]) + cursor.rest()
            break
        values.update(_READERS[code](cursor))
    return StatusVariables(**values)


def _integer(name: str, length: int) -> Callable[[Cursor], dict[str, Any]]:
    return lambda cursor: {name: cursor.uint(length)}


def _text(name: str) -> Callable[[Cursor], dict[str, Any]]:
    return lambda cursor: {name: cursor.text(cursor.u8())}


def _zero_terminated_catalog(cursor: Cursor) -> dict[str, Any]:
    length = cursor.u8()
    catalog = cursor.text(length)
    if length:
        cursor.skip(1)
    return {"catalog": catalog}


def _auto_increment(cursor: Cursor) -> dict[str, Any]:
    return {
        "auto_increment_increment": cursor.u16(),
        "auto_increment_offset": cursor.u16(),
    }


def _charset(cursor: Cursor) -> dict[str, Any]:
    return {
        "client_collation": cursor.u16(),
        "connection_collation": cursor.u16(),
        "server_collation": cursor.u16(),
    }


def _invoker(cursor: Cursor) -> dict[str, Any]:
    return {"invoker_user": cursor.text(cursor.u8()), "invoker_host": cursor.text(cursor.u8())}


def _updated_schemas(cursor: Cursor) -> dict[str, Any]:
    count = cursor.u8()
    if count > _MAX_UPDATED_SCHEMAS:
        return {"updated_schemas": None}
    return {"updated_schemas": tuple(cursor.null_terminated() for _ in range(count))}


def _gtid_flags_extra(cursor: Cursor) -> dict[str, Any]:
    flags = cursor.u8()
    if not flags & _ENDS_ALTER:
        return {"gtid_flags_extra": flags}
    return {"gtid_flags_extra": flags, "start_alter_number": cursor.u64()}


def _character_set_collations(cursor: Cursor) -> dict[str, Any]:
    pairs = tuple((cursor.u16(), cursor.u16()) for _ in range(cursor.u8()))
    return {"character_set_collations": pairs}


def _explicit_defaults(cursor: Cursor) -> dict[str, Any]:
    return {"explicit_defaults_for_timestamp": cursor.u8() != 0}


_READERS: dict[int, Callable[[Cursor], dict[str, Any]]] = {
    0: _integer("flags2", 4),
    1: _integer("sql_mode", 8),
    2: _zero_terminated_catalog,
    3: _auto_increment,
    4: _charset,
    5: _text("time_zone"),
    6: _text("catalog"),
    7: _integer("lc_time_names", 2),
    8: _integer("schema_collation", 2),
    9: _integer("table_map_for_update", 8),
    10: _integer("master_data_written", 4),
    11: _invoker,
    12: _updated_schemas,
    13: _integer("microseconds", 3),
    16: _explicit_defaults,
    17: _integer("ddl_xid", 8),
    18: _integer("default_collation_for_utf8mb4", 2),
    19: _integer("sql_require_primary_key", 1),
    20: _integer("default_table_encryption", 1),
    21: _integer("enable_cascade_triggers", 1),
    128: _integer("hrnow", 3),
    129: _integer("xid", 8),
    130: _gtid_flags_extra,
    131: _character_set_collations,
}
