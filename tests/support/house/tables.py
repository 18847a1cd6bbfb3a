"""The house's tables: what is in each room, and in which order rooms may import each other."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

ROOT = Path(__file__).parents[3]


@dataclass(frozen=True)
class House:
    """`packages` in the order in which they may import each other; `guests` import only faces.

    `rooms` gives each room's entries, `order` the steps in which entries of a room may import each
    other: each those of the steps before it, never those of its own. `large` rooms may have more
    than 15 entries, `small` has the reason of each module of fewer than 40 lines (of a whole room
    by its name), `allowed` what an importer may import in spite of all.
    """

    root: Path
    packages: Sequence[str]
    rooms: Mapping[str, str]
    order: Mapping[str, Sequence[str]]
    guests: Sequence[str] = ()
    large: Sequence[str] = ()
    small: Mapping[str, str] = field(default_factory=dict)
    allowed: Sequence[tuple[str, str]] = ()


PACKAGES = ("decoder", "pipeline", "binlake")

ROOMS = {
    "binlake": "arguments commands logs snapshot",
    "decoder": (
        "columns/ compression/ constants dump_text/ encryption/ errors events/ framing/ "
        "kernels/ model/ rows/ segments/ stream/ transactions/"
    ),
    "decoder.columns": (
        "addresses arrays binary bits cells charsets/ compressed decimals digits enums floats "
        "geometry integers json json_diffs json_errors json_numbers json_opaque json_text "
        "json_values registry temporal temporal_storage temporal_text temporal_values text "
        "transcoding utf8 validity values vector"
    ),
    "decoder.columns.charsets": "collations multi_byte single_byte",
    "decoder.compression": (
        "compressed_rows memory_budget oversized_payload payload payload_decoder payload_windows"
    ),
    "decoder.dump_text": "rows statements",
    "decoder.encryption": "header keyring keys plugin_keyring stream_cipher",
    "decoder.events": (
        "append_block begin_load_query column_metadata create_file cursor decimal_value "
        "delete_file event exec_load execute_load_query format_description format_descriptor "
        "gtid gtid_set gtid_tagged header heartbeat heartbeat_v2 ignorable incident intvar "
        "layout load load_options mariadb_annotate_rows mariadb_binlog_checkpoint "
        "mariadb_compression mariadb_gtid mariadb_gtid_list mariadb_start_encryption "
        "optional_metadata post_header previous_gtids query query_compressed rand registry "
        "rotate rows rows_query slave start_v3 status_variables stop table_definition "
        "table_map transaction_context transaction_payload unknown user_var view_change "
        "xa_prepare xid"
    ),
    "decoder.framing": (
        "chunked_reader frames large_event layout_tracker replication_packets sliding_buffer"
    ),
    "decoder.kernels": (
        "cache crc32 crc32_aarch64 crc32_folding crc32_tables instructions memory processor"
    ),
    "decoder.model": "definition lossy_values options results schemas segment",
    "decoder.rows": (
        "blocks cell_positions change_batch grouping image_layout images partial_updates "
        "row_decoder spans table_maps table_reader walker"
    ),
    "decoder.segments": "framer log_header segmenter statistics",
    "decoder.stream": (
        "event_reader excerpt library open_transaction precompile segment_decoder warm.binlog.zst"
    ),
    "decoder.transactions": (
        "boundaries cascades control_events counting event_window faults gtid_text "
        "input_errors records row_spans savepoints state statements summaries xa"
    ),
    "pipeline": (
        "bronze/ catalog/ cli/ errors gold/ lake/ layer maintenance/ observe/ run/ seed/ settings/ "
        "silver/ source/ spark/ verify/"
    ),
    "pipeline.bronze": (
        "batch_plan carry_out continuity copies executed_gtids files ingest job order restore "
        "scan tables"
    ),
    "pipeline.catalog": "alter/ ddl/ timeline/",
    "pipeline.catalog.alter": (
        "alteration conversions generated items kept_values logical_conversions "
        "partition_changes text_conversions time_conversions versions"
    ),
    "pipeline.catalog.ddl": (
        "actions addresses alter charsets column_clause column_types constants "
        "conversion_mode create cursor ddl declarations default_context defaults dml dump "
        "effects elements expression_functions expression_reader expressions foreign_key "
        "kept_expression keys letter_case lexer literals model names numeric_defaults "
        "partition_clause partitions rekeying temporal temporal_defaults temporary "
        "text_defaults"
    ),
    "pipeline.catalog.timeline": (
        "consequences definitions foreign_keys insert_defaults logged naming renames seeded "
        "start statements table_items tables timeline touched"
    ),
    "pipeline.cli": (
        "__main__ app capture_command databricks_task inspect inspect_encryption "
        "inspect_events inspect_names inspect_rows options run_commands seed_command "
        "server_command show show_runs"
    ),
    "pipeline.gold": ("apply/ carry_out cascades/ changes/ job plan/ planning schema/ table/"),
    "pipeline.gold.apply": "apply merge seed_rows",
    "pipeline.gold.cascades": "foresight links outlook parents reader replay rows store",
    "pipeline.gold.changes": (
        "bags blockers change_stats changes documents drift faults fold fold_partial images "
        "json_diff json_paths keys lives local_fold log_facts refusals small_batch steps "
        "transactions xa"
    ),
    "pipeline.gold.plan": (
        "batch_plan cut inspection published_cuts reach rebuild stopped_tables table_refresh until "
        "verification_points"
    ),
    "pipeline.gold.schema": (
        "alter_table convert evolve generated insert_defaults partition_rows renames unlogged"
    ),
    "pipeline.gold.table": (
        "commit_stats damage foreign_commits gold_table incomplete loose_text names refusal "
        "state write"
    ),
    "pipeline.lake": (
        "child_sessions dealing delta delta_conflicts delta_log/ files/ layout ledger/ locks/ "
        "small_jobs sql_text starting store_options stores tables/"
    ),
    "pipeline.lake.delta_log": ("conditions delta_rs spark_types spark_written table table_log"),
    "pipeline.lake.files": ("compaction data_files rewriting scanning skipping target_writer"),
    "pipeline.lake.ledger": ("history_removed ledger ledger_table refill run_record run_store"),
    "pipeline.lake.locks": "lease lease_guard lock",
    "pipeline.lake.tables": "actions by_spark last_rows native opening tables",
    "pipeline.maintenance": (
        "batch fit job limits needs plan planning preview record retention scratch seeds "
        "tables upkeep"
    ),
    "pipeline.observe": (
        "cancellation current_run interruption log log_progress memory progress redaction "
        "report spark_job_progress statement_passwords"
    ),
    "pipeline.run": "commands operations preflight recorder status",
    "pipeline.seed": (
        "chunked chunks consistent dumps/ errors filling folder from_dump jdbc job selection "
        "server source_table values/"
    ),
    "pipeline.seed.dumps": (
        "cell_rows delimited feed folder given inserts model mydumper mysql_shell mysqldump "
        "open statements typed"
    ),
    "pipeline.seed.values": "cell_bytes dates documents labels numbers registry rows",
    "pipeline.settings": (
        "capture expectations file mistakes model seed server settings shown time_zone until "
        "values variables"
    ),
    "pipeline.silver": "carry_out decode/ full_refresh job plan/ planning tables/",
    "pipeline.silver.decode": (
        "decode decoding segment_tasks segments silver_tables splitter statement_faults table_names"
    ),
    "pipeline.silver.plan": (
        "batch_plan known_tables late_names new_segments progress seeds survey take_seeds"
    ),
    "pipeline.silver.tables": "quarantine views",
    "pipeline.source": "capture/ check/ gtid_set logs/ server/",
    "pipeline.source.capture": (
        "backoff byte_queue capture_status checkpoints command destination dump_connection "
        "dump_items dump_stream errors failover kept_tables landed_file landed_folder "
        "landed_gtids log_position object_store reader replica_commands run server_refusals "
        "source start state"
    ),
    "pipeline.source.check": (
        "checks facts finding grants lacks privileges reading report run tables "
        "time_and_names variables"
    ),
    "pipeline.source.logs": (
        "archive copy_ends decrypted_file encrypted gzip_stream kept_statements listing "
        "resumed_file server_folders server_logs storage"
    ),
    "pipeline.source.server": (
        "connection create_statements errors log_place login opening refusals version"
    ),
    "pipeline.spark": ("cache engine jars java session ship_code spark_submit warm_kernels"),
    "pipeline.verify": (
        "against canonical checksums chunks gold_table live report run script server_file "
        "snapshot snapshot_columns staged_rows state_match/"
    ),
    "pipeline.verify.state_match": "cut_at executed_at position way",
}
ORDER = {
    "decoder": (
        "errors constants",
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
        "bronze catalog",
        "silver",
        "gold",
        "verify maintenance",
        "seed",
        "run",
        "cli",
    ),
    "pipeline.lake": (
        "sql_text store_options starting dealing",
        "stores child_sessions",
        "locks small_jobs delta_conflicts",
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
    "pipeline.catalog": (
        "ddl",
        "alter",
        "timeline",
    ),
    "pipeline.silver": (
        "decode",
        "plan",
        "tables",
        "planning",
        "full_refresh",
        "carry_out",
        "job",
    ),
    "pipeline.gold": (
        "table",
        "changes",
        "schema",
        "cascades plan",
        "apply",
        "planning",
        "carry_out",
        "job",
    ),
}
LARGE = (
    "pipeline",
    "decoder.events",
    "decoder.columns",
    "pipeline.catalog.ddl",
    "pipeline.gold.changes",
    "pipeline.source.capture",
)
SMALL = {
    "decoder.columns": "a column type each",
    "decoder.encryption.keyring": "a file format of its own, beside the plugin's",
    "decoder.events": "an event each, with its byte layout",
    "decoder.framing.chunked_reader": "input in pieces: neither the buffer's nor the dump's own",
    "decoder.kernels.processor": "what the cache and numba must agree on",
    "decoder.model.lossy_values": "columns and rows both use it",
    "decoder.model.options": "the face's own type",
    "decoder.model.segment": "the face's own type",
    "decoder.transactions.row_spans": "boundaries and summaries both use it",
    "pipeline.bronze.files": "it needs Spark's types, which readers of `bronze.tables` do without",
    "pipeline.catalog.alter.kept_values": "one question of ALTER TABLE, asked from two places",
    "pipeline.catalog.ddl.names": "every reader of DDL uses it",
    "pipeline.catalog.timeline.renames": "a RENAME of several tables is a case of its own",
    "pipeline.cli.__main__": "`python -m pipeline.cli`",
    "pipeline.gold.schema.partition_rows": "DDL's partitions as SQL, and nothing else",
    "pipeline.gold.table.incomplete": "a job and the status both report it",
    "pipeline.gold.table.refusal": "an error type that all of gold raises",
    "pipeline.gold.table.write": "a type that all of gold's writers use",
    "pipeline.lake.ledger.refill": "bronze asks it, without silver",
    "pipeline.lake.small_jobs": "a setting of Spark that several rooms switch",
    "pipeline.lake.sql_text": "the first step of the room: it imports nothing",
    "pipeline.lake.tables.opening": "the choice between two implementations",
    "pipeline.maintenance.scratch": "one kind of leftovers each",
    "pipeline.maintenance.seeds": "one kind of leftovers each",
    "pipeline.observe.cancellation": "tasks ask it in threads, without Spark",
    "pipeline.settings.model": "the base of all settings models",
    "pipeline.settings.seed": "one section of the settings file each",
    "pipeline.settings.time_zone": "conf and the source's sessions share it",
    "pipeline.source.capture.destination": "a capture and its status share it",
    "pipeline.source.capture.reader": "a thread of its own",
    "pipeline.source.capture.server_refusals": "what servers refuse to a capture, in words",
    "pipeline.source.check.checks": "the list of all checks",
    "pipeline.source.check.run": "the entry of the room",
    "pipeline.source.logs.server_folders": "a folder layout that a capture and bronze share",
    "pipeline.source.server.errors": "error types of the room",
    "pipeline.spark.cache": "a path that jars and Java share",
    "pipeline.verify.script": "it builds the script, and is not in it",
}
ALLOWED = (
    ("decoder.events", "decoder.stream.event_reader.Data"),
    ("decoder.events", "decoder.stream.event_reader.events"),
)
"""The package `decoder.events` is itself the function of that name (decision 0005)."""

HOUSE = House(ROOT, PACKAGES, ROOMS, ORDER, ("dags", "demo"), LARGE, SMALL, ALLOWED)
