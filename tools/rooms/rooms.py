"""What each room is for, what it shows, and in which order rooms may import each other."""

from __future__ import annotations

# One sentence of purpose for each room's `__init__.py`. Rooms in KEPT keep their own text.
PURPOSE = {
    "decoder.kernels": "Compiled access to bytes: how kernels are compiled, cached, and touch memory.",
    "decoder.model": "What goes into the decoder and comes out: segments, definitions, results, schemas, options.",
    "decoder.framing.frames": "Bytes to checked events: where each one begins and ends, and what its header has.",
    "decoder.dump_text": "Rows and statements of a dump's text, found by kernels.",
    "decoder.transactions.boundaries": "Events to transactions: boundaries, statements, GTIDs, faults.",
    "decoder.rows.row_decoder": "Rows events to record batches: the walk over cells, their positions, and images.",
    "decoder.segments.segmenter": "Where a log can be cut so that each segment decodes on its own.",
    "decoder.compression": "Compressed transactions and rows events, expanded within a budget of memory.",
    "decoder.stream.segment_decoder": "The decoder's passes wired together: a segment in, Arrow out.",
    "pipeline": "Binlake's pipeline: binlog files → bronze → silver → gold, each a set of Delta tables.",
    "pipeline.observe": "What a run reports: log lines, progress, counts, and no secrets in any of them.",
    "pipeline.lake.layout": "Where a lake's data lies, and how it is read and committed.",
    "pipeline.lake.layout.locks": "Locks and leases that keep concurrent runs apart.",
    "pipeline.lake.layout.delta_log": "What a table of the lake is, and what its Delta log says of it.",
    "pipeline.lake.layout.files": "Parquet files of the lake's tables: written, scanned, skipped, rewritten, compacted.",
    "pipeline.lake.layout.tables": "One way to read and commit the lake's tables: by delta-rs, or by Spark.",
    "pipeline.lake.layout.ledger": "The lake's ledger: plans and records of batches, and the records of runs.",
    "pipeline.settings.settings": "Settings: files, variables and options to one checked model.",
    "pipeline.source": "The source server and its binary logs.",
    "pipeline.source.server": "The source server: who logs in, the connection, and which server it is.",
    "pipeline.source.check": "`binlake check`: is a source server fit to be replicated, and what to change.",
    "pipeline.source.logs": "A source's binary logs where they are stored: listed, opened, decrypted.",
    "pipeline.source.capture": "`binlake capture`: a live server's binary logs, landed byte for byte in a folder.",
    "pipeline.spark.session": "Spark: starting a session, its jars, its Java, and where tasks run.",
    "pipeline.bronze": "Bronze: the input files' bytes, as segments that decode one by one.",
    "pipeline.catalog": "Table definitions over time: what DDL does, and which definition is in force where.",
    "pipeline.catalog.ddl.ddl": "DDL text to effects on tables.",
    "pipeline.catalog.ddl.alter": "Effects to new definitions, and to conversions of the rows that are there.",
    "pipeline.catalog.timeline.timeline": "Definitions by their position in the log.",
    "pipeline.silver": "Silver: bronze's segments decoded to one Delta table per table definition.",
    "pipeline.silver.decode.decode": "Segments to rows, in the tasks that read them.",
    "pipeline.silver.plan.batch_plan": "What the next batch of silver decodes, and under which definitions.",
    "pipeline.silver.decode.silver_tables": "Silver's tables: what a batch commits, and what is quarantined.",
    "pipeline.gold": "Gold: silver's changes become tables that equal the source's own at a commit.",
    "pipeline.gold.table": "What a gold table is: names, state, damage, refusals.",
    "pipeline.gold.changes.changes": "A batch's changes, folded to one change for each key.",
    "pipeline.gold.schema": "Changes of a table's schema, applied to gold.",
    "pipeline.gold.plan.batch_plan": "What the next batch of gold applies, and how far it may go.",
    "pipeline.gold.cascades.foresight": "What foreign keys change without the log saying so, worked out beforehand.",
    "pipeline.gold.apply.apply": "A plan applied to gold's tables, one MERGE or append at a time.",
    "pipeline.verify": "Verify: is gold what its source has, by checksums that both can make.",
    "pipeline.verify.state_match": "Which published snapshot of gold is of the same state as a server's.",
    "pipeline.maintenance": "Maintenance: remove what nothing needs any more, and compact what is left.",
    "pipeline.seed": "Initial snapshots: rows of a server or a dump, as if they had been logged.",
    "pipeline.run.commands": "The commands that are runs, their records, and the status of a lake.",
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
        "BinlogError": "decoder.errors", "Framer": "decoder.segments.framer", "Keys": "decoder.encryption.keys",
        "Segment": "decoder.model.segment", "SegmentDecoder": "decoder.stream.segment_decoder", "Segmenter": "decoder.segments.segmenter",
        "TableDefinition": "decoder.model.definition", "TypeOptions": "decoder.model.options",
        "events": "decoder.stream.event_reader", "read": "decoder.stream.library",
    },
    "pipeline.observe": {
        "LayerReport": "pipeline.observe.report", "Progress": "pipeline.observe.progress", "redact": "pipeline.observe.redaction",
        "say": "pipeline.observe.log",
    },
    "pipeline.lake.layout": {"Lake": "pipeline.lake.layout", "Ledger": "pipeline.lake.ledger.ledger"},
    "pipeline.settings.settings": {"Settings": "pipeline.settings.settings"},
    "pipeline.source": {
        "Capture": "pipeline.source.capture.run", "GtidSet": "pipeline.source.gtid_set", "find_binlogs": "pipeline.source.logs.listing",
        "check_server": "pipeline.source.check.run",
    },
    "pipeline.bronze": {"read_files": "pipeline.bronze.files", "run": "pipeline.bronze.job"},
    "pipeline.catalog": {"TableName": "pipeline.catalog.ddl.effects", "Timeline": "pipeline.catalog.timeline.timeline"},
    "pipeline.silver": {
        "refresh": "pipeline.silver.job", "retry": "pipeline.silver.job", "run": "pipeline.silver.job",
    },
    "pipeline.gold": {
        "Cut": "pipeline.gold.plan.cut", "GoldState": "pipeline.gold.table.state", "refresh": "pipeline.gold.job",
        "retry": "pipeline.gold.job", "run": "pipeline.gold.job",
    },
    "pipeline.maintenance": {"run": "pipeline.maintenance.job"},
    "pipeline.seed": {"run": "pipeline.seed.job"},
    "pipeline.run.commands": {"read_status": "pipeline.run.status", "run_command": "pipeline.run.commands"},
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
    "pipeline.lake.layout": (
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
    "decoder.events", "decoder.columns", "pipeline.catalog.ddl.ddl", "pipeline.gold.changes.changes",
    "pipeline.source.capture",
)
# Why a module of fewer than 40 lines is one of its own, by its old name (folders end with a dot).
SMALL = {
    "an event each": "decoder.events.",
    "a column type each": "decoder.columns.",
    "an entry point": "pipeline.cli.app.__main__",
}
