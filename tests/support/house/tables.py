"""The house's tables: what is in each room, and in which order rooms may import each other."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

ROOT = Path(__file__).parents[3]


@dataclass(frozen=True)
class House:
    """`packages` in the order in which they may import each other; from one in `closed`, others
    import names on faces, never a room's module; `guests` import only faces; of folders `beside`
    them, only the files' lines are counted; of those in `named`, the modules' names are compared
    with each other, too.

    `rooms` gives each room's entries, `order` the steps in which entries of a room may import each
    other: each those of the steps before it, never those of its own. `large` rooms may have more
    than 15 entries, `small` has the reason of each module of fewer than 40 lines (of a whole room
    by its name), `allowed` what an importer may import in spite of all, `crowded` the folders of
    tests with more than 15 entries, `twins` why two names may differ only by an ending (in
    alphabetical order).
    """

    root: Path
    packages: Sequence[str]
    rooms: Mapping[str, str]
    order: Mapping[str, Sequence[str]]
    guests: Sequence[str] = ()
    beside: Sequence[str] = ()
    named: Sequence[str] = ()
    large: Sequence[str] = ()
    small: Mapping[str, str] = field(default_factory=dict)
    allowed: Sequence[tuple[str, str]] = ()
    crowded: Sequence[str] = ()
    twins: Mapping[tuple[str, str], str] = field(default_factory=dict)
    closed: Sequence[str] = ()


PACKAGES = ("decoder", "pipeline", "pyspark_binlog", "binlake")
CLOSED = ("decoder", "pipeline")

ROOMS = {
    "binlake": "arguments commands log_files snapshot",
    "decoder": (
        "columns/ compression/ constants dump_text/ encryption/ errors events/ framing/ "
        "kernels/ lazy_names model/ rows/ segments/ stream/ transactions/"
    ),
    "decoder.columns": (
        "addresses arrays binary cells charsets/ compressed_columns decimals digits enums "
        "fixed_width geometry json json_diffs json_errors json_numbers json_opaque json_text "
        "json_values registry temporal temporal_storage temporal_text temporal_values text "
        "transcoding utf8 values vector"
    ),
    "decoder.columns.charsets": "collations multi_byte single_byte",
    "decoder.compression": ("compressed_rows memory_budget payload payload_decoder"),
    "decoder.dump_text": "rows statements",
    "decoder.encryption": "header keyring keys stream_cipher",
    "decoder.events": (
        "append_block begin_load_query column_metadata create_file cursor delete_file event "
        "exec_load execute_load_query format_description gtid gtid_set gtid_tagged header "
        "heartbeat heartbeat_v2 ignorable incident intvar layout load log_start "
        "mariadb_annotate_rows mariadb_binlog_checkpoint mariadb_compression mariadb_gtid "
        "mariadb_gtid_list mariadb_start_encryption optional_metadata previous_gtids query "
        "query_compressed rand registry rotate rows rows_query slave start_v3 status_variables "
        "stop table_definition table_map transaction_context transaction_payload unknown user_var "
        "view_change xa_prepare xid"
    ),
    "decoder.framing": (
        "chunked_reader frames large_event layout_tracker replication_packets sliding_buffer"
    ),
    "decoder.kernels": (
        "cache crc32 crc32_aarch64 crc32_folding crc32_tables instructions memory processor"
    ),
    "decoder.model": "definition options results schemas segment",
    "decoder.rows": (
        "blocks cell_positions change_batch grouping image_layout images partial_updates "
        "row_decoder table_slots walker"
    ),
    "decoder.segments": "log_header log_windows segment_bounds statistics",
    "decoder.stream": (
        "event_reader excerpt open_transaction precompile segment_decoder segment_input "
        "warm.binlog.zst"
    ),
    "decoder.transactions": (
        "boundaries control_events counting event_window faults gtid_text records savepoints "
        "state statements summaries xa"
    ),
    "pipeline": (
        "bronze/ cli/ errors gold/ lake/ layer maintenance/ observe/ run/ schema_history/ seed/ "
        "settings/ silver/ source/ spark/ verify/"
    ),
    "pipeline.bronze": (
        "batch_plan carry_out continuity executed_gtids files ingest inputs job log_origin "
        "newest_file order preview scan tables"
    ),
    "pipeline.schema_history": "alter/ ddl/ timeline/",
    "pipeline.schema_history.alter": (
        "altered_columns conversions generated items layout_versions partition_changes "
        "text_conversions time_conversions"
    ),
    "pipeline.schema_history.ddl": (
        "actions addresses alter charsets column_clause column_types constants conversion_mode "
        "create cursor ddl defaults dml effects elements expression_functions expression_reader "
        "expressions foreign_key_clause keys lexer logged_effects model names numeric_defaults "
        "partition_clause partitions schema_dump temporal_defaults text_defaults"
    ),
    "pipeline.schema_history.timeline": (
        "column_names consequences definitions_file foreign_keys logged_statement seed_items "
        "statements stored_timeline table_items tables timeline touched"
    ),
    "pipeline.cli": (
        "__main__ app databricks_task inspect inspect_events inspect_names inspect_rows options "
        "run_commands server_commands show show_dry_run show_runs snapshot_commands"
    ),
    "pipeline.gold": (
        "apply/ carry_out cascades/ changes/ job local/ next_batch plan/ preview schema/ snapshot/ "
        "table/"
    ),
    "pipeline.gold.apply": "apply merge seed_rows",
    "pipeline.gold.cascades": (
        "cascades_table derivation links parents planned_batch reader replay rows"
    ),
    "pipeline.gold.changes": (
        "change_stats changes drift faults fold fold_partial holds images key_checks keyless "
        "log_facts patched_json refusals small_batch steps transactions xa"
    ),
    "pipeline.gold.local": (
        "drift fold fold_partial keyless merge overwrite row_numbers seed table"
    ),
    "pipeline.gold.plan": (
        "batch_plan cuts_table publication reach rebuild stopped_tables table_inspection "
        "table_refresh until verification_points"
    ),
    "pipeline.gold.schema": (
        "alter_table converted_values evolve generated renames table_change unlogged"
    ),
    "pipeline.gold.snapshot": "copy description query_engines snapshot table_versions",
    "pipeline.gold.table": (
        "commits damage gold_table incomplete names options state table_metadata"
    ),
    "pipeline.lake": (
        "child_sessions dealing delta delta_log/ delta_step files/ layout lazy_spark ledger/ "
        "locks/ sql_text store_options stores tables/"
    ),
    "pipeline.lake.delta_log": (
        "column_features column_statistics conditions delta_rs file_commit log_version "
        "metadata_commit model spark_types spark_written table_log version_checksum"
    ),
    "pipeline.lake.files": "compaction data_files rewriting skipping table_scan target_writer",
    "pipeline.lake.ledger": ("history_removed ledger ledger_table run_record run_store"),
    "pipeline.lake.locks": "lease lock",
    "pipeline.lake.tables": "actions by_spark choice last_rows native tables",
    "pipeline.maintenance": (
        "batch gold_options job leftovers needs preview removals retention tables upkeep"
    ),
    "pipeline.observe": (
        "current_run interruption memory progress quantities redaction report run_log "
        "spark_job_progress"
    ),
    "pipeline.run.monitoring": ("datasets lineage metrics monitor problems source_state webhook"),
    "pipeline.run.sync": (
        "capture_records capture_thread chores command round_recorder rounds sample"
    ),
    "pipeline.run": (
        "commands dbt_sources monitoring/ operations page/ preflight preview recorder setup/ "
        "status sync/ totals"
    ),
    "pipeline.run.setup": "proposal settings_file settings_text",
    "pipeline.run.page": (
        "attention chart daily_rows document freshness lake_page output run_times schema_changes "
        "stored_sizes templates/"
    ),
    "pipeline.run.page.templates": "macros.html page.html style.css",
    "pipeline.seed": (
        "chunks consistent dumps/ errors folder from_dump jdbc job selection server source_table "
        "values/"
    ),
    "pipeline.seed.dumps": (
        "cell_rows feed folder formats given model mydumper mysql_shell mysqldump statements "
        "text_chunks"
    ),
    "pipeline.seed.values": "cell_bytes dates numbers rows text",
    "pipeline.settings": (
        "capture conf_file gold meanings mistakes monitoring secret_file server settings sync "
        "time_zone until values"
    ),
    "pipeline.silver": "carry_out decode/ full_refresh job next_batch plan/ preview tables/",
    "pipeline.silver.decode": (
        "decode segment_refs segment_tasks silver_tables splitter statement_faults table_names "
        "task_output"
    ),
    "pipeline.silver.plan": (
        "batch_plan known_tables late_names new_segments progress stored_seeds survey take_seeds"
    ),
    "pipeline.silver.tables": "quarantine views",
    "pipeline.source": "capture/ check/ gtid_set logs/ server/",
    "pipeline.source.capture": (
        "backoff capture_status checkpoints command dump_connection dump_items dump_start "
        "dump_stream errors failover kept_tables landed_folder landed_gtids object_store reader "
        "run source state"
    ),
    "pipeline.source.check": (
        "facts finding granted_privileges needed_privileges report run tables variables"
    ),
    "pipeline.source.logs": (
        "archive ciphers kept_statements listing server_folders server_logs storage"
    ),
    "pipeline.source.server": (
        "connect_timeout connection create_statements errors log_position login refusals version"
    ),
    "pipeline.spark": "engine jars java session ship_code spark_submit warm_kernels",
    "pipeline.verify": (
        "against canonical checksums chunks comparison_record gold_table live matching position "
        "report run script server_file snapshot snapshot_columns"
    ),
    "pyspark_binlog": (
        "batch columns committed_rows conform envelope log_definitions log_ranges log_survey "
        "options pushdown read_plan source stream stream_offsets xa_outcomes"
    ),
}
ORDER = {
    "decoder": (
        "errors constants lazy_names",
        "kernels encryption model",
        "columns",
        "events",
        "framing dump_text",
        "transactions",
        "rows segments",
        "compression",
        "stream",
    ),
    "pipeline": (
        "errors",
        "observe",
        "lake",
        "settings",
        "source spark",
        "layer",
        "bronze schema_history",
        "silver",
        "gold",
        "verify maintenance",
        "seed",
        "run",
        "cli",
    ),
    "pipeline.lake": (
        "sql_text store_options lazy_spark dealing",
        "stores child_sessions",
        "locks delta_step",
        "layout delta",
        "delta_log",
        "files",
        "tables",
        "ledger",
    ),
    "pipeline.source": (
        "gtid_set server",
        "check logs",
        "capture",
    ),
    "pipeline.schema_history": (
        "ddl",
        "alter",
        "timeline",
    ),
    "pipeline.silver": (
        "decode",
        "plan",
        "tables",
        "next_batch preview",
        "full_refresh",
        "carry_out",
        "job",
    ),
    "pipeline.gold": (
        "table",
        "changes",
        "local",
        "schema",
        "cascades plan",
        "apply snapshot",
        "next_batch",
        "carry_out preview",
        "job",
    ),
}
LARGE = (
    "pipeline",
    "decoder.events",
    "decoder.columns",
    "pipeline.schema_history.ddl",
    "pipeline.gold.changes",
    "pipeline.source.capture",
)
SMALL = {
    "decoder.columns": "a column type each",
    "decoder.events": "an event each, with its byte layout",
    "decoder.lazy_names": "faces of several rooms use it",
    "decoder.framing.chunked_reader": "input in pieces: neither the buffer's nor the dump's own",
    "decoder.kernels.processor": "what the cache and numba must agree on",
    "decoder.model.options": "the face's own type",
    "decoder.model.segment": "the face's own type",
    "pipeline.bronze.files": "it needs Spark's types, which readers of `bronze.tables` do without",
    "pipeline.schema_history.ddl.names": "every reader of DDL uses it",
    "pipeline.cli.__main__": "`python -m pipeline.cli`",
    "pipeline.gold.table.incomplete": "a job and the status both report it",
    "pipeline.lake.sql_text": "the first step of the room: it imports nothing",
    "pipeline.lake.tables.choice": "the choice between two implementations",
    "pipeline.settings.sync": "a section of the settings",
    "pipeline.settings.time_zone": "conf and the source's sessions share it",
    "pipeline.source.logs.server_folders": "a folder layout that a capture and bronze share",
    "pipeline.source.server.errors": "error types of the room",
    "pipeline.verify.script": "it builds the script, and is not in it",
}
ALLOWED = (
    ("decoder.events", "decoder.stream.event_reader.Data"),
    ("decoder.events", "decoder.stream.event_reader.events"),
)
"""The package `decoder.events` is itself the function of that name (decision 0005)."""

CROWDED = ("tests/integration", "tests/support", "tests/unit/pipeline")
"""They have a folder for each room of the pipeline, which is `LARGE`."""

TWINS = {
    ("command", "commands"): "the one command that a room is, and the list of all",
    ("decode", "decoder"): "silver's step, and the package that it calls",
    ("event", "events"): "a room and the class that all in it derive from",
    ("fold", "folder"): "different words: changes are folded, files are in a folder",
    ("frames", "framing"): "a room and what it makes of bytes",
    ("lock", "locks"): "a room, and the lock of a local disk besides the lease of a store",
    ("monitor", "monitoring"): "a room and the class that starts all in it",
    ("peer", "peers"): "the programs that are compared, and the script of one of them",
    ("recorder", "records"): "who writes the record of a run, and the tables that kernels share",
    ("schema", "schemas"): "how a table's schema changes, and the schemas on the decoder's face",
    ("segment", "segments"): "a segment, and the room that finds where segments end",
    ("table", "tables"): "the room of one gold table, and the tables of each layer",
}
"""Pairs that are right, with the reason."""

GUESTS = ("dags", "demo")
BESIDE = ("benchmarks", "tests", "tools")
NAMED = ("dags", "benchmarks")

HOUSE = House(
    ROOT,
    PACKAGES,
    ROOMS,
    ORDER,
    GUESTS,
    BESIDE,
    NAMED,
    LARGE,
    SMALL,
    ALLOWED,
    CROWDED,
    TWINS,
    CLOSED,
)
