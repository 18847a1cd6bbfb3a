"""What each room is for, what it shows, and in which order rooms may import each other."""

from __future__ import annotations

# One sentence of purpose for each room's `__init__.py`. Rooms in KEPT keep their own text.
PURPOSE = {
    "decoder.kernels": "Compiled access to bytes: how kernels are compiled, cached, and touch memory.",
    "decoder.model": "What goes into the decoder and comes out: segments, definitions, results, schemas, options.",
    "decoder.framing": "Bytes to checked events: where each one begins and ends, and what its header has.",
    "decoder.dump_text": "Rows and statements of a dump's text, found by kernels.",
    "decoder.transactions": "Events to transactions: boundaries, statements, GTIDs, faults.",
    "decoder.rows": "Rows events to record batches: the walk over cells, their positions, and images.",
    "decoder.segments": "Where a log can be cut so that each segment decodes on its own.",
    "decoder.compression": "Compressed transactions and rows events, expanded within a budget of memory.",
    "decoder.stream": "The decoder's passes wired together: a segment in, Arrow out.",
    "pipeline": "Binlake's pipeline: binlog files → bronze → silver → gold, each a set of Delta tables.",
    "pipeline.observe": "What a run reports: log lines, progress, counts, and no secrets in any of them.",
    "pipeline.lake": "Where a lake's data lies, and how it is read and committed.",
    "pipeline.lake.locks": "Locks and leases that keep concurrent runs apart.",
    "pipeline.lake.delta_log": "What a table of the lake is, and what its Delta log says of it.",
    "pipeline.lake.files": "Parquet files of the lake's tables: written, scanned, skipped, rewritten, compacted.",
    "pipeline.lake.tables": "One way to read and commit the lake's tables: by delta-rs, or by Spark.",
    "pipeline.lake.ledger": "The lake's ledger: plans and records of batches, and the records of runs.",
    "pipeline.settings": "Settings: files, variables and options to one checked model.",
    "pipeline.source": "The source server and its binary logs.",
    "pipeline.source.server": "The source server: who logs in, the connection, and which server it is.",
    "pipeline.source.check": "`binlake check`: is a source server fit to be replicated, and what to change.",
    "pipeline.source.logs": "A source's binary logs where they are stored: listed, opened, decrypted.",
    "pipeline.source.capture": "`binlake capture`: a live server's binary logs, landed byte for byte in a folder.",
    "pipeline.spark": "Spark: starting a session, its jars, its Java, and where tasks run.",
    "pipeline.bronze": "Bronze: the input files' bytes, as segments that decode one by one.",
    "pipeline.catalog": "Table definitions over time: what DDL does, and which definition is in force where.",
    "pipeline.catalog.ddl": "DDL text to effects on tables.",
    "pipeline.catalog.alter": "Effects to new definitions, and to conversions of the rows that are there.",
    "pipeline.catalog.timeline": "Definitions by their position in the log.",
    "pipeline.silver": "Silver: bronze's segments decoded to one Delta table per table definition.",
    "pipeline.silver.decode": "Segments to rows, in the tasks that read them.",
    "pipeline.silver.plan": "What the next batch of silver decodes, and under which definitions.",
    "pipeline.silver.tables": "Silver's tables: what a batch commits, and what is quarantined.",
    "pipeline.gold": "Gold: silver's changes become tables that equal the source's own at a commit.",
    "pipeline.gold.table": "What a gold table is: names, state, damage, refusals.",
    "pipeline.gold.changes": "A batch's changes, folded to one change for each key.",
    "pipeline.gold.schema": "Changes of a table's schema, applied to gold.",
    "pipeline.gold.plan": "What the next batch of gold applies, and how far it may go.",
    "pipeline.gold.cascades": "What foreign keys change without the log saying so, worked out beforehand.",
    "pipeline.gold.apply": "A plan applied to gold's tables, one MERGE or append at a time.",
    "pipeline.verify": "Verify: is gold what its source has, by checksums that both can make.",
    "pipeline.verify.state_match": "Which published snapshot of gold is of the same state as a server's.",
    "pipeline.maintenance": "Maintenance: remove what nothing needs any more, and compact what is left.",
    "pipeline.seed": "Initial snapshots: rows of a server or a dump, as if they had been logged.",
    "pipeline.run": "The commands that are runs, their records, and the status of a lake.",
    "pipeline.cli": "The `binlake` command line.",
}
# Packages that are more than a face; `__all__` is added to them.
KEPT = (
    "decoder", "decoder.columns", "decoder.columns.charsets", "decoder.encryption", "decoder.events",
    "pipeline.seed.dumps", "pipeline.seed.values",
)
# Names of faces, by the old module that has them: loaded when first used, so that no face is heavy.
FACES = {
    "decoder": {
        "BinlogError": "decoder.errors", "Framer": "decoder.framer", "Keys": "decoder.encryption.keys",
        "Segment": "decoder.segment", "SegmentDecoder": "decoder.stream", "Segmenter": "decoder.segments",
        "TableDefinition": "decoder.definition", "TypeOptions": "decoder.options",
        "events": "decoder.inspect", "read": "decoder.library",
    },
    "pipeline.observe": {
        "LayerReport": "pipeline.report", "Progress": "pipeline.progress", "redact": "pipeline.redaction",
        "say": "pipeline.log_lines",
    },
    "pipeline.lake": {"Lake": "pipeline.lake", "Ledger": "pipeline.ledger"},
    "pipeline.settings": {"Settings": "pipeline.settings"},
    "pipeline.source": {
        "Capture": "pipeline.capture.run", "GtidSet": "pipeline.bronze.gtids", "find_binlogs": "pipeline.bronze.listing",
        "check_server": "pipeline.server.check.run",
    },
    "pipeline.bronze": {"read_files": "pipeline.bronze.files", "run": "pipeline.bronze.job"},
    "pipeline.catalog": {"TableName": "pipeline.catalog.effects", "Timeline": "pipeline.catalog.timeline"},
    "pipeline.silver": {
        "refresh": "pipeline.silver.job", "retry": "pipeline.silver.job", "run": "pipeline.silver.job",
    },
    "pipeline.gold": {
        "Cut": "pipeline.gold.cut", "GoldState": "pipeline.gold.state", "refresh": "pipeline.gold.job",
        "retry": "pipeline.gold.job", "run": "pipeline.gold.job",
    },
    "pipeline.maintenance": {"run": "pipeline.maintenance.job"},
    "pipeline.seed": {"run": "pipeline.seed.job"},
    "pipeline.run": {"read_status": "pipeline.status", "run_command": "pipeline.run"},
    "pipeline.cli": {"main": "pipeline.cli"},
}
# A step may import from the steps before it; entries of one step do not import each other.
ORDER = {
    "decoder": (
        "errors constants", "kernels encryption model", "columns", "events", "framing dump_text",
        "transactions", "rows segments", "compression", "stream",
    ),
    "pipeline": (
        "errors", "observe", "lake", "settings", "source spark", "bronze catalog", "silver", "gold",
        "verify maintenance", "seed", "run", "cli",
    ),
    "pipeline.lake": (
        "sql_text store_options starting dealing", "stores child_sessions",
        "locks small_jobs delta_conflicts", "layout delta", "delta_log", "files", "tables", "ledger",
    ),
    "pipeline.source": ("gtid_set server", "check logs", "capture"),
    "pipeline.catalog": ("ddl", "alter", "timeline"),
    "pipeline.silver": (
        "decode", "plan", "tables", "planning", "full_refresh", "carry_out", "job",
    ),
    "pipeline.gold": (
        "table", "changes", "schema", "cascades plan", "apply", "planning", "carry_out", "job",
    ),
}
# Folders that may hold more than 15 entries.
LARGE = (
    "decoder.events", "decoder.columns", "pipeline.catalog.ddl", "pipeline.gold.changes",
    "pipeline.source.capture",
)
# Why a module of fewer than 40 lines is one of its own, by its old name (folders end with a dot).
SMALL = {
    "an event each": "decoder.events.",
    "a column type each": "decoder.columns.",
    "an entry point": "pipeline.cli.__main__",
}
