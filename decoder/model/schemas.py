"""Arrow schemas of the results of decoding a segment; silver's tables have the same columns.

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
"""The columns of every change, before its two images."""


def changes(row: pa.StructType) -> pa.Schema:
    """Return the schema of a table's changes, whose row images have the type `row`."""
    return pa.schema([*CHANGE_FIELDS, pa.field("before", row), pa.field("after", row)])


TABLE_COUNTS = pa.map_(pa.string(), pa.int64())
RANGES = pa.list_(pa.struct([pa.field("start", pa.int64()), pa.field("end", pa.int64())]))

TRANSACTIONS = pa.schema(
    [
        pa.field("__lsn", pa.int64(), nullable=False),
        pa.field("file", pa.string(), nullable=False),
        pa.field("start_pos", pa.int64(), nullable=False),
        # Null if the transaction continues in the next segment.
        pa.field("end_pos", pa.int64()),
        pa.field("gtid", pa.string()),
        pa.field("xid", pa.int64()),
        pa.field("server_id", pa.int64()),
        pa.field("committed_at", TIMESTAMP),
        pa.field("original_committed_at", TIMESTAMP),
        # schema.table → number of row images
        pa.field("rows", TABLE_COUNTS),
        pa.field("bytes", pa.int64(), nullable=False),
        # Null for an XA PREPARE, whose commit is a later transaction, and until the end is read.
        pa.field("commit_lsn", pa.int64()),
        # [start, end) positions of events whose rows must not be applied
        pa.field("rolled_back", RANGES),
        # The same for a compressed transaction, whose rows share a position: ranges of `__row`
        pa.field("rolled_back_rows", RANGES),
        # Cascades of foreign keys: logged (all row changes are in the log) | unlogged (InnoDB
        # performs them without logging) | mixed; null without rows
        pa.field("cascades", pa.string()),
        # For mixed, the parts where cascades are logged: [start, end) of event positions, or
        # of `__row`
        pa.field("cascades_logged", RANGES),
        pa.field("cascades_logged_rows", RANGES),
        # The XA transaction's xid as `format id:global id:branch` (the last two in hex), and this
        # transaction's role in it: prepare | one_phase | commit | rollback
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
        # character_set_client: the charset of the statement's bytes.
        pa.field("charset", pa.string()),
        # collation_connection's charset: the statement's string literals are converted to it.
        pa.field("connection_charset", pa.string()),
        # collation_server's charset: the default of a schema that is created without one.
        pa.field("server_charset", pa.string()),
        pa.field("time_zone", pa.string()),
        # The statement's NOW(): the header's second, and Q_MICROSECONDS if logged.
        pa.field("executed_at", TIMESTAMP),
        # Set since MySQL 8 for DDL that had an effect: not for a no-op IF NOT EXISTS.
        pa.field("ddl_xid", pa.int64()),
        # Logged with CREATE and ALTER TABLE since MySQL 8; else null.
        pa.field("explicit_defaults_for_timestamp", pa.bool_()),
        # True if it used temporary tables of its connection (LOG_EVENT_THREAD_SPECIFIC_F).
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
        # null: the affected tables are unknown, so no snapshot is published past this fault
        pa.field("tables", pa.list_(pa.string())),
        pa.field("reason", pa.string(), nullable=False),
        pa.field("content", pa.binary()),
    ]
)
