"""Arrow schemas of what decoding a segment yields; silver's tables have the same columns.

`changes` is per table; `TRANSACTIONS`, `STATEMENTS` and `FAULTS` are fixed. Positions are byte
offsets in the file; an LSN is `ordinal << 40 | offset of the transaction's first event`.
"""

from __future__ import annotations

import pyarrow as pa

TIMESTAMP = pa.timestamp("us", "UTC")

JSON_DIFF = pa.map_(pa.string(), pa.string())
"""By JSON column, its diffs as text (see `decoder.columns.json_diffs`)."""

CHANGE_FIELDS: tuple[pa.Field, ...] = (
    pa.field("__op", pa.string(), nullable=False),
    pa.field("__lsn", pa.int64(), nullable=False),
    pa.field("__pos", pa.int64(), nullable=False),
    pa.field("__row", pa.int32(), nullable=False),
    pa.field("__committed_at", TIMESTAMP),
    pa.field("__gtid", pa.string()),
    pa.field("__server_id", pa.int64()),
    pa.field("__file", pa.string(), nullable=False),
    pa.field("__absent_before", pa.list_(pa.string())),
    pa.field("__absent_after", pa.list_(pa.string())),
    pa.field("__json_diff", JSON_DIFF),
)
"""What every change carries, before the two images."""


def changes(row: pa.StructType) -> pa.Schema:
    """The schema of a table's changes, whose images are of type `row`."""
    return pa.schema([*CHANGE_FIELDS, pa.field("before", row), pa.field("after", row)])


TABLE_COUNTS = pa.map_(pa.string(), pa.int64())

TRANSACTIONS = pa.schema(
    [
        pa.field("__lsn", pa.int64(), nullable=False),
        pa.field("file", pa.string(), nullable=False),
        pa.field("start_pos", pa.int64(), nullable=False),
        # Null in the part of a transaction that does not hold its end (it was cut in the middle).
        pa.field("end_pos", pa.int64()),
        pa.field("gtid", pa.string()),
        pa.field("xid", pa.int64()),
        pa.field("server_id", pa.int64()),
        pa.field("committed_at", TIMESTAMP),
        pa.field("original_committed_at", TIMESTAMP),
        # schema.table → row images
        pa.field("rows", TABLE_COUNTS),
        pa.field("bytes", pa.int64(), nullable=False),
        # Null for an XA PREPARE, whose commit is a later transaction, and while the end is unseen.
        pa.field("commit_lsn", pa.int64()),
        # [start, end) positions of events whose rows must not be applied
        pa.field(
            "rolled_back",
            pa.list_(pa.struct([pa.field("start", pa.int64()), pa.field("end", pa.int64())])),
        ),
        # The same in a compressed transaction, whose rows share a position: [start, end) of `__row`
        pa.field(
            "rolled_back_rows",
            pa.list_(pa.struct([pa.field("start", pa.int64()), pa.field("end", pa.int64())])),
        ),
        # What foreign keys did to rows beside those that are logged: logged (nothing, or it is here
        # too) | unlogged (what InnoDB does by itself) | mixed; null without rows
        pa.field("cascades", pa.string()),
        # Of a mixed one, where it is logged: [start, end) of events' positions, or of `__row`
        pa.field(
            "cascades_logged",
            pa.list_(pa.struct([pa.field("start", pa.int64()), pa.field("end", pa.int64())])),
        ),
        pa.field(
            "cascades_logged_rows",
            pa.list_(pa.struct([pa.field("start", pa.int64()), pa.field("end", pa.int64())])),
        ),
        # An XA transaction's name, `format id:global id:branch` (the latter two in hex), and what
        # this one is to it: prepare | one_phase | commit | rollback
        pa.field("xa", pa.string()),
        pa.field("xa_end", pa.string()),
    ]
)

STATEMENTS = pa.schema(
    [
        pa.field("__lsn", pa.int64(), nullable=False),
        pa.field("__pos", pa.int64(), nullable=False),
        pa.field("file", pa.string(), nullable=False),
        pa.field("committed_at", TIMESTAMP),
        pa.field("gtid", pa.string()),
        pa.field("schema", pa.string()),
        pa.field("query", pa.string(), nullable=False),
        pa.field("error_code", pa.int32()),
        pa.field("thread_id", pa.int64()),
        pa.field("sql_mode", pa.int64()),
        # Of character_set_client: the statement's bytes are in it.
        pa.field("charset", pa.string()),
        # Of collation_connection: the statement's strings are converted to it.
        pa.field("connection_charset", pa.string()),
        # Of collation_server in the session: a schema has it that is created without one.
        pa.field("server_charset", pa.string()),
        pa.field("time_zone", pa.string()),
        # When the statement began (header's second, and Q_MICROSECONDS where logged): its NOW().
        pa.field("executed_at", TIMESTAMP),
        # From MySQL 8 on set for DDL that did something: not for an IF NOT EXISTS that exists.
        pa.field("ddl_xid", pa.int64()),
        # Logged with CREATE and ALTER TABLE from MySQL 8 on; null where it is not.
        pa.field("explicit_defaults_for_timestamp", pa.bool_()),
        # Whether it used temporary tables of its connection (LOG_EVENT_THREAD_SPECIFIC_F).
        pa.field("thread_specific", pa.bool_()),
    ]
)

FAULTS = pa.schema(
    [
        pa.field("__lsn", pa.int64()),
        pa.field("__pos", pa.int64(), nullable=False),
        pa.field("file", pa.string(), nullable=False),
        # undecodable | statement_dml | incident | lossy_key | …
        pa.field("kind", pa.string(), nullable=False),
        pa.field("event_type", pa.string()),
        # null: it cannot be known which tables are touched, so the cut is held
        pa.field("tables", pa.list_(pa.string())),
        pa.field("reason", pa.string(), nullable=False),
        pa.field("content", pa.binary()),
    ]
)
