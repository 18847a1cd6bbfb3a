"""Constants of the binary log format, under MySQL's own names.

Sources: MySQL `libs/mysql/binlog/event/binlog_event.h` (event types, flags),
`include/field_types.h` (column types), `libs/mysql/binlog/event/rows_event.h` (optional metadata).
"""

from __future__ import annotations

from enum import Enum, IntEnum, IntFlag

MAGIC = b"\xfebin"
MAGIC_ENCRYPTED = b"\xfdbin"
HEADER_LENGTH = 19
"""Bytes of a v4 event header: timestamp 4, type 1, server id 4, size 4, log_pos 4, flags 2."""
CHECKSUM_LENGTH = 4
BINARY_COLLATION = 63


class EventType(IntEnum):
    """`Log_event_type` of MySQL, 0 to 42, and MariaDB's from 160."""

    UNKNOWN = 0
    START_V3 = 1
    QUERY = 2
    STOP = 3
    ROTATE = 4
    INTVAR = 5
    LOAD = 6
    SLAVE = 7
    CREATE_FILE = 8
    APPEND_BLOCK = 9
    EXEC_LOAD = 10
    DELETE_FILE = 11
    NEW_LOAD = 12
    RAND = 13
    USER_VAR = 14
    FORMAT_DESCRIPTION = 15
    XID = 16
    BEGIN_LOAD_QUERY = 17
    EXECUTE_LOAD_QUERY = 18
    TABLE_MAP = 19
    PRE_GA_WRITE_ROWS = 20
    PRE_GA_UPDATE_ROWS = 21
    PRE_GA_DELETE_ROWS = 22
    WRITE_ROWS_V1 = 23
    UPDATE_ROWS_V1 = 24
    DELETE_ROWS_V1 = 25
    INCIDENT = 26
    HEARTBEAT = 27
    IGNORABLE = 28
    ROWS_QUERY = 29
    WRITE_ROWS = 30
    UPDATE_ROWS = 31
    DELETE_ROWS = 32
    GTID = 33
    ANONYMOUS_GTID = 34
    PREVIOUS_GTIDS = 35
    TRANSACTION_CONTEXT = 36
    VIEW_CHANGE = 37
    XA_PREPARE = 38
    PARTIAL_UPDATE_ROWS = 39
    TRANSACTION_PAYLOAD = 40
    HEARTBEAT_V2 = 41
    GTID_TAGGED = 42
    MARIADB_ANNOTATE_ROWS = 160
    MARIADB_BINLOG_CHECKPOINT = 161
    MARIADB_GTID = 162
    MARIADB_GTID_LIST = 163
    MARIADB_START_ENCRYPTION = 164
    MARIADB_QUERY_COMPRESSED = 165
    MARIADB_WRITE_ROWS_COMPRESSED_V1 = 166
    MARIADB_UPDATE_ROWS_COMPRESSED_V1 = 167
    MARIADB_DELETE_ROWS_COMPRESSED_V1 = 168
    MARIADB_WRITE_ROWS_COMPRESSED = 169
    MARIADB_UPDATE_ROWS_COMPRESSED = 170
    MARIADB_DELETE_ROWS_COMPRESSED = 171


class EventFlag(IntFlag):
    """Bits of the header's flags field."""

    BINLOG_IN_USE = 0x1
    THREAD_SPECIFIC = 0x4
    SUPPRESS_USE = 0x8
    ARTIFICIAL = 0x20
    RELAY_LOG = 0x40
    IGNORABLE = 0x80
    NO_FILTER = 0x100
    MTS_ISOLATE = 0x200


class ColumnType(IntEnum):
    """`enum_field_types` of MySQL, and MariaDB's types of COMPRESSED columns."""

    DECIMAL = 0
    TINY = 1
    SHORT = 2
    LONG = 3
    FLOAT = 4
    DOUBLE = 5
    NULL = 6
    TIMESTAMP = 7
    LONGLONG = 8
    INT24 = 9
    DATE = 10
    TIME = 11
    DATETIME = 12
    YEAR = 13
    NEWDATE = 14
    VARCHAR = 15
    BIT = 16
    TIMESTAMP2 = 17
    DATETIME2 = 18
    TIME2 = 19
    TYPED_ARRAY = 20
    BLOB_COMPRESSED = 140
    VARCHAR_COMPRESSED = 141
    VECTOR = 242
    INVALID = 243
    BOOL = 244
    JSON = 245
    NEWDECIMAL = 246
    ENUM = 247
    SET = 248
    TINY_BLOB = 249
    MEDIUM_BLOB = 250
    LONG_BLOB = 251
    BLOB = 252
    VAR_STRING = 253
    STRING = 254
    GEOMETRY = 255


INTEGER_BITS = {
    ColumnType.TINY: 8,
    ColumnType.SHORT: 16,
    ColumnType.INT24: 24,
    ColumnType.LONG: 32,
    ColumnType.LONGLONG: 64,
}
INSTANT_TYPES = (ColumnType.TIMESTAMP, ColumnType.TIMESTAMP2)
DATE_TYPES = (ColumnType.DATE, ColumnType.NEWDATE, ColumnType.DATETIME, ColumnType.DATETIME2)
ZERO_DATE_TYPES = (*DATE_TYPES, *INSTANT_TYPES)
"""The types that have a zero value, such as '0000-00-00'."""
NUMERIC_TYPES = frozenset(
    (*INTEGER_BITS, ColumnType.NEWDECIMAL, ColumnType.FLOAT, ColumnType.DOUBLE, ColumnType.YEAR)
)
"""Types with a bit in the signedness field of a table map."""


class LogicalType(str, Enum):
    """MariaDB types that are logged as another type: BINARY, and VARBINARY for VECTOR.

    The log does not identify them; only a table definition or DDL does.
    """

    UUID = "UUID"
    INET4 = "INET4"
    INET6 = "INET6"
    VECTOR = "VECTOR"


ADDRESS_BYTES = {LogicalType.UUID: 16, LogicalType.INET4: 4, LogicalType.INET6: 16}
"""Bytes of a value of each type, including trailing zeros, which the log may omit."""
ADDRESS_CHARACTERS = {LogicalType.UUID: 36, LogicalType.INET4: 15, LogicalType.INET6: 39}
"""Characters of the longest text of each type."""


class ChecksumAlgorithm(IntEnum):
    """`enum_binlog_checksum_alg`."""

    OFF = 0
    CRC32 = 1
    UNDEFINED = 255


def event_name(code: int) -> str:
    """Return the event type's name, or `UNKNOWN_<code>` if no known server writes the code."""
    try:
        return EventType(code).name
    except ValueError:
        return f"UNKNOWN_{code}"
