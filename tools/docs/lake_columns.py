"""The meaning of each column of the lake's tables: what docs/reference/tables.md is rendered from.

`tests/unit/test_docs.py` fails for a column without a meaning, and for a meaning without a column.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import pyarrow as pa

from decoder import schemas
from pipeline.bronze.tables import files_table, segments_table
from pipeline.gold.cascades.cascades_table import cascades_table
from pipeline.gold.plan.cuts_table import cuts_table
from pipeline.gold.table.names import LSN, MEANINGS
from pipeline.lake import Lake
from pipeline.lake.ledger.ledger_table import batches
from pipeline.lake.ledger.run_record import RUNS
from pipeline.schema_history.timeline.stored_timeline import definitions
from pipeline.silver.decode.silver_tables import (
    quarantine_table,
    statements_table,
    transactions_table,
)

_SOURCE = "The source that the row belongs to (`source` in the settings)."
_LSN = "LSN of the transaction: its position in the source's log (see [LSN](../glossary.md#lsn))."
_POS = "Byte offset of the event in its file."
_FILE = "The log file's name."
_BATCH = "The batch of this layer that wrote the row."


@dataclass(frozen=True)
class DocumentedTable:
    """A table of the lake: its path, the meaning of a row, its schema, the meaning of columns."""

    path: str
    row: str
    schema: pa.Schema
    meanings: Mapping[str, str]


def documented_tables() -> list[DocumentedTable]:
    """Return all tables with fixed columns, in data order: all except copies of source tables."""
    lake = Lake("")
    return [
        DocumentedTable(
            "bronze/segments",
            "A run of bytes of a log file, split between transactions. The `content` of a file's"
            " rows in order of `start_pos` and `part` is the file, byte for byte.",
            segments_table(lake).schema,
            {
                "source": _SOURCE,
                "file": _FILE,
                "incarnation": "Distinguishes files of the same name: names repeat after RESET.",
                "ordinal": "The file's number in the source's log. It only ever increases.",
                "start_pos": "First byte of the segment in the file.",
                "end_pos": "Byte after the segment. All parts of a segment have the same.",
                "part": "Number of the part, from 0: an event larger than `segments.limit` takes"
                " several rows.",
                "preamble": "Events that make the segment decodable on its own: the format and,"
                " inside a transaction, its beginning and its table maps.",
                "content": "The bytes.",
                "sha256": "Hash of this row's `content`.",
                "transaction_pos": "Where the transaction starts that the segment begins inside of;"
                " null if it begins between transactions.",
                "incomplete": "True for a tail that is not a whole transaction: kept, not decoded.",
                "events": "Events by type, for the whole segment; in part 0 only, as are the next"
                " five columns.",
                "transactions": "Transactions that end in the segment.",
                "first_committed_at": "Commit time of its first transaction.",
                "last_committed_at": "Commit time of its last transaction.",
                "gtids": "GTID set of its transactions.",
                "excerpt": "Events that define tables, so that silver need not read the content to"
                " find them; null: it reads the content.",
                "batch": _BATCH,
            },
        ),
        DocumentedTable(
            "bronze/files",
            "A log file: how much of it is ingested, and whether it is complete.",
            files_table(lake).schema,
            {
                "source": _SOURCE,
                "file": _FILE,
                "incarnation": "Distinguishes files of the same name: names repeat after RESET.",
                "ordinal": "The file's number in the source's log.",
                "path": "Where the file was read from.",
                "size": "Its size in bytes when it was last looked at.",
                "modified": "The store's change marker when it was last looked at.",
                "state": "`open` (still written), `complete`, or `faulty`.",
                "complete": "True once the whole file, up to its end, is ingested.",
                "fault": "What is wrong with the file and what to do; else null.",
                "ingested_upto": "Bytes ingested.",
                "crc32": "Checksum of the ingested bytes, by which a longer copy is recognized as"
                " the same file.",
                "sha256": "Hash of the whole file, once complete.",
                "in_use": "Whether the server's in-use flag is set in the stored bytes.",
                "server_version": "Version of the server that wrote the file.",
                "server_id": "Id of that server.",
                "checksum": "Checksum algorithm of its events.",
                "previous_gtids": "GTIDs that were executed before the file.",
                "gtids": "GTIDs of its whole transactions; null in a relay log.",
                "begun": "When the server began the file, in seconds since 1970.",
                "restarted": "True if the server started with this file, so that the one before may"
                " end without ROTATE or STOP.",
                "batch": _BATCH,
            },
        ),
        DocumentedTable(
            "silver/changes/‹schema›/‹table›/v‹N›",
            "A changed row, as logged under the table's N-th definition.",
            schemas.changes(pa.null()),
            {
                "__op": "`insert`, `update` or `delete`.",
                "__lsn": _LSN,
                "__pos": _POS + " In a compressed transaction: of the whole payload.",
                "__row": "Number of the row in the event; in a compressed transaction, in the whole"
                " payload.",
                "__committed_at": "Commit time: the GTID event's immediate commit time, or else the"
                " second in the row's own event.",
                "__gtid": "GTID of the transaction; null if the log has none.",
                "__server_id": "Id of the server that executed the transaction first.",
                "__file": _FILE,
                "__absent_before": "Columns that the before image leaves out; null if it is whole.",
                "__absent_after": "Columns that the after image leaves out; null if it is whole.",
                "__json_diff": "Partial JSON updates by column, each a JSON array of `op`, `path`"
                " and `value`; null if there are none.",
                "before": "The row before the change: the table's columns; null for an insert.",
                "after": "The row after the change; null for a delete.",
            },
        ),
        DocumentedTable(
            "silver/transactions",
            "A transaction.",
            transactions_table(lake).schema,
            {
                "source": _SOURCE,
                "batch": _BATCH,
                "__lsn": _LSN,
                "file": _FILE,
                "start_pos": "Where the transaction starts in the file.",
                "end_pos": "Where it ends; null while its end has not been seen.",
                "gtid": "Its GTID; null if the log has none.",
                "xid": "The storage engine's transaction number.",
                "server_id": "Id of the server that executed it first.",
                "committed_at": "When the server whose log this is committed it.",
                "original_committed_at": "When the server that executed it first committed it.",
                "rows": "Row images by `schema.table`.",
                "bytes": "Its size in the log.",
                "commit_lsn": "LSN at which it took effect: its own, or that of the XA COMMIT. Null"
                " for an XA PREPARE and while its end has not been seen.",
                "rolled_back": "Positions of events that ROLLBACK TO undid, or all of a transaction"
                " that ended with ROLLBACK or never ended: gold leaves them out.",
                "rolled_back_rows": "The same in a compressed transaction, by `__row`.",
                "cascades": "What foreign keys did beyond the logged rows: `logged`, `unlogged`"
                " (gold does it) or `mixed`; null without rows.",
                "cascades_logged": "For `mixed`: positions of the events where it is logged.",
                "cascades_logged_rows": "The same in a compressed transaction, by `__row`.",
                "xa": "Name of the XA transaction it belongs to.",
                "xa_end": "The step of the XA transaction that it is: `prepare`, `one_phase`,"
                " `commit` or `rollback`.",
                "seen_before": "True if the lake already had it by GTID: its rows are left out.",
            },
        ),
        DocumentedTable(
            "silver/statements",
            "A DDL or other statement in the log (every QUERY event but BEGIN and COMMIT).",
            statements_table(lake).schema,
            {
                "source": _SOURCE,
                "batch": _BATCH,
                "__lsn": _LSN,
                "__pos": _POS,
                "file": _FILE,
                "committed_at": "Commit time.",
                "gtid": "GTID of its transaction; null if the log has none.",
                "schema": "The session's default schema.",
                "query": "The statement's text.",
                "error_code": "The error that the statement ended with; 0 if none.",
                "thread_id": "The connection.",
                "sql_mode": "The session's `sql_mode`, as a bit mask.",
                "charset": "`character_set_client`, the character set of the statement's bytes.",
                "connection_charset": "Character set of `collation_connection`: strings in the"
                " statement are converted to it.",
                "server_charset": "Character set of `collation_server`: that of a schema created"
                " without one.",
                "time_zone": "The session's time zone, if logged.",
                "executed_at": "When the statement began: its NOW().",
                "ddl_xid": "Set from MySQL 8.0 on for DDL that changed something.",
                "explicit_defaults_for_timestamp": "The session's variable, where it is logged.",
                "thread_specific": "True if it used temporary tables of its connection.",
            },
        ),
        DocumentedTable(
            "silver/quarantine",
            "A fault: what could not be decoded or must not be applied.",
            quarantine_table(lake).schema,
            {
                "source": _SOURCE,
                "batch": _BATCH,
                "__lsn": _LSN,
                "__pos": _POS,
                "file": _FILE,
                "kind": "`undecodable`, `unsupported`, `statement`, `incident`, `lossy_key`, or"
                " what planning found.",
                "event_type": "Type of the event at fault.",
                "tables": "Tables that it affects, the cause first; null: unknown, so that the"
                " whole source is held.",
                "reason": "Description of the fault.",
                "content": "The bytes, or the statement.",
                "ordinal": "Ordinal of the file.",
                "start_pos": "Start of the segment that the fault is in.",
                "resolved_batch": "The batch that resolved it; null while it is open.",
            },
        ),
        DocumentedTable(
            "gold/_cuts",
            "A published snapshot: a commit of the source, and each table's Delta version at it.",
            cuts_table(lake).schema,
            {
                "source": _SOURCE,
                "batch": _BATCH,
                "lsn": "LSN of the last transaction that is applied.",
                "gtid_set": "GTIDs of all transactions up to it that the lake has; null if the log"
                " has none.",
                "committed_at": "Commit time of that transaction on the source.",
                "tables": "For each table: `schema`, `table`, `path` (or its name in the catalog),"
                " `delta_id` and `delta_version` (null without a gold table), `held`, `complete`.",
            },
        ),
        DocumentedTable(
            "gold/_cascades",
            "Changes that foreign keys made and the log does not contain, by table and batch.",
            cascades_table(lake).schema,
            {
                "source": _SOURCE,
                "name": "The plan that they belong to.",
                "schema": "Schema of the child table.",
                "table": "The child table.",
                "version": "The `v‹N›` of silver's table.",
                "rows": "How many changes.",
                "content": "The changes, as an Arrow IPC stream with silver's columns.",
            },
        ),
        DocumentedTable(
            "ledger/batches",
            "A layer's plan, or the record of its execution.",
            batches(lake).schema,
            {
                "source": _SOURCE,
                "layer": "`bronze`, `silver`, `gold` or `maintenance`.",
                "batch": "Number of the batch.",
                "state": "`planned` or `finished`.",
                "body": "JSON: what to do (planned) or what was done (finished).",
                "begins": "JSON: the full refresh that the plan begins; else null.",
                "run_id": "The run that wrote the row.",
                "at": "When.",
                "format": "Format of the lake. Another release's lake is refused.",
            },
        ),
        DocumentedTable(
            "ledger/definitions",
            "A step in a table's history: created, altered, emptied, renamed, dropped, seeded, or"
            " not applied for a reason.",
            definitions(lake).schema,
            {
                "source": _SOURCE,
                "batch": _BATCH,
                "number": "Order of the steps at one position.",
                "lsn": _LSN,
                "pos": _POS,
                "schema": "Schema of the table.",
                "table": "The table.",
                "kind": "What happened (`create`, `alter`, `drop`, `seeded`, `unsupported`, …).",
                "version": "The `v‹N›` of silver that rows are in from here on.",
                "definition": "JSON: the table's definition from here on.",
                "defaults": "JSON: for added columns, their values in existing rows.",
                "statement": "The statement's text.",
                "reason": "Why the step is not applied, or the table is not complete.",
                "columns": "JSON: for `alter`, where each column's values come from.",
                "model": "JSON: what DDL defines beyond columns (keys, charsets, foreign keys).",
                "other": "JSON: the other table of a rename.",
                "rows": "JSON: the partitions whose rows are gone.",
                "seed": "JSON: the initial snapshot that the rows come from.",
            },
        ),
        DocumentedTable(
            "ledger/runs",
            "A run that has ended, partitioned by `day`.",
            RUNS,
            {
                "run_id": "The run; also in `ledger/batches` and in its log lines.",
                "source": _SOURCE,
                "command": "`run`, `ingest`, `decode`, `apply`, `retry`, `maintain`,"
                " `seed`, `verify`, or `capture` (of a sync, if it failed or works again).",
                "layers": "The layers that it ran.",
                "day": "Day of `started_at`, in UTC.",
                "started_at": "When it started.",
                "started_micros": "The same in microseconds since 1970, which the table's log has.",
                "finished_at": "When it ended.",
                "seconds": "How long it took.",
                "layer_seconds": "Seconds by layer, of layers that ended normally.",
                "outcome": "`done`, `nothing_new`, `faults` (done, with faults or gaps), `failed`"
                " or `interrupted`.",
                "exit_code": "See [exit codes](exit-codes.md).",
                "error": "Of a run that failed: a sentence.",
                "error_type": "The error's class.",
                "retryable": "Whether the same run again may help by itself; null: unknown.",
                "batches": "Batches that it finished: `layer`, `batch`, and `planned_by`, the run"
                " whose plan it was, if that is another.",
                "files": "Bronze: files with something new.",
                "bytes": "Bronze: new bytes.",
                "segments": "Bronze: new segments.",
                "events": "Bronze: events in them.",
                "events_by_type": "The same by type.",
                "newest_file": "Bronze: the file in the input that was written last.",
                "newest_file_at": "When that was, by the store's clock; null if it does not say.",
                "transactions": "Silver: transactions decoded.",
                "seen_before": "Silver: transactions left out since the lake already had them.",
                "rows_decoded": "Silver: row images decoded.",
                "rows_decoded_by_table": "The same by `schema.table`.",
                "rows_applied": "Gold: changes applied, and rows taken from initial snapshots.",
                "rows_applied_by_table": "The same by `schema.table`.",
                "cut_lsn": "LSN of the snapshot that it published; null if it published none.",
                "cut_committed_at": "Commit time of that transaction on the source.",
                "published_at": "When the snapshot was published.",
                "lag_seconds": "From `cut_committed_at` to `published_at`, by two clocks: the"
                " source's and this machine's. Null if nothing newer was published.",
                "fault_count": "How many faults.",
                "faults": "The first 200, each with `layer` and `sentence`.",
                "gap_count": "How many gaps.",
                "gaps": "The first 200 gaps.",
                "note_count": "How many notes, such as files skipped on purpose.",
                "notes": "The first 200 notes, and what monitoring could not send.",
                "notified": "Problems of its layers that the webhook knows and that are not over:"
                " `layer`, `kind`, `subject`; null without a webhook.",
                "binlake_version": "Version of Binlake.",
                "spark_version": "Version of Spark; null if the run did not need it.",
                "spark_application": "Spark's id of the application; null as above.",
                "host": "The driver's machine.",
            },
        ),
    ]


GOLD_COLUMNS = {
    **MEANINGS,
    LSN: MEANINGS[LSN].replace("LSN", "[LSN](../glossary.md#lsn)", 1),
}
"""Gold's own columns, after the source's."""
