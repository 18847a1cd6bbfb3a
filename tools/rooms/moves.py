"""Where every module goes: a room of the house, and in it `old module [-> new name]`.

Old modules are dotted paths without `.py`, relative to the package, as the tree had them before. A
module that is gone meanwhile is skipped; one that is new and not named here stops move.py.
"""

from __future__ import annotations

DECODER = {
    "": "errors constants",
    "kernels": "memory instructions processor kernel_cache->cache crc32 crc32_tables crc32_folding crc32_aarch64",
    "encryption": "encryption.header encryption.keyring encryption.keys encryption.plugin_keyring encryption.stream_cipher",
    "model": "segment results definition schemas options lossy->lossy_values",
    "columns": "columns.addresses columns.arrays columns.binary columns.bits columns.cells columns.compressed"
    " columns.decimals columns.digits columns.enums columns.floats columns.geometry columns.integers columns.json"
    " columns.json_diffs columns.json_errors columns.json_numbers columns.json_opaque columns.json_text"
    " columns.json_values columns.registry columns.temporal columns.temporal_storage columns.temporal_text"
    " columns.temporal_values columns.text columns.transcoding columns.utf8 columns.validity columns.values"
    " columns.vector",
    "columns.charsets": "charsets.collations charsets.multi_byte charsets.single_byte",
    "events": "header layout descriptor->format_descriptor mariadb_compression"
    " events.append_block events.begin_load_query events.column_metadata events.create_file events.cursor"
    " events.decimal_value events.delete_file events.event events.exec_load events.execute_load_query"
    " events.format_description events.gtid events.gtid_set events.gtid_tagged events.heartbeat"
    " events.heartbeat_v2 events.ignorable events.incident events.intvar events.load events.load_options"
    " events.mariadb_annotate_rows events.mariadb_binlog_checkpoint events.mariadb_gtid"
    " events.mariadb_gtid_list events.mariadb_start_encryption events.optional_metadata events.post_header"
    " events.previous_gtids events.query events.query_compressed events.rand events.registry events.rotate"
    " events.rows events.rows_query events.slave events.start_v3 events.status_variables events.stop"
    " events.table_definition events.table_map events.transaction_context events.transaction_payload"
    " events.unknown events.user_var events.view_change events.xa_prepare events.xid",
    "framing": "framing->frames format_reader->layout_tracker feed->sliding_buffer large_event"
    " pieces->chunked_reader packets->replication_packets",
    "dump_text": "dumped_rows->rows dumped_statements->statements",
    "transactions": "transactions->boundaries session->state window->event_window tables->records"
    " attention->control_events refusals->input_errors statements savepoints row_spans xa gtid_text"
    " counting cascades summaries faults",
    "rows": "plan->image_layout grouping table_maps walk->walker locate->cell_positions blocks spans images"
    " partial_updates table_reader batches->change_batch rows->row_decoder",
    "segments": "framer segments->segmenter head->log_header tally->statistics",
    "compression": "payload payloads->payload_decoder passed_payload->oversized_payload"
    " inner_windows->payload_windows compressed_rows expansion->memory_budget",
    "stream": "stream->segment_decoder holding->open_transaction library inspect->event_reader warm->precompile excerpt",
}

PIPELINE = {
    "": "errors",
    "observe": "log_lines->log log_progress progress job_progress->spark_job_progress redaction report"
    " under_way->current_run statement_passwords memory interruption cancellation",
    "lake": "lake->layout stores store_options delta delta_conflicts sql_text sessions->child_sessions"
    " interpreted->small_jobs dealing starting",
    "lake.locks": "lock lease hold->lease_guard",
    "lake.delta_log": "lake_tables.table lake_tables.conditions lake_tables.delta_rs lake_tables.table_log"
    " lake_tables.spark_written lake_tables.spark_types",
    "lake.files": "lake_tables.data_files lake_tables.target_writer lake_tables.scanning lake_tables.skipping"
    " lake_tables.rewriting lake_tables.compaction",
    "lake.tables": "lake_tables.tables lake_tables.opening lake_tables.by_spark lake_tables.native"
    " lake_tables.actions lake_tables.last_rows",
    "lake.ledger": "ledger ledger_table removed->history_removed refilled->refill"
    " runs.record->run_record runs.store->run_store",
    "settings": "settings settings_file->file settings_model->model settings_values->values"
    " settings_variables->variables settings_expectations->expectations settings_mistakes->mistakes"
    " settings_shown->shown capture_settings->capture seed_settings->seed server_settings->server until time_zone",
    "source": "bronze.gtids->gtid_set",
    "source.server": "server.connection server.create_statements server.errors server.log_place"
    " server.login server.opening server.refusals server.version",
    "source.check": "server.check.checks server.check.facts server.check.finding server.check.grants"
    " server.check.lacks server.check.privileges server.check.reading server.check.report"
    " server.check.run server.check.tables server.check.time_and_names server.check.variables",
    "source.logs": "bronze.listing bronze.storage bronze.archive bronze.gzip_stream bronze.encrypted"
    " bronze.decrypted_file bronze.resumed_file bronze.logs->server_logs bronze.turns->server_folders"
    " bronze.ends->copy_ends bronze.kept_statements",
    "source.capture": "capture.backoff capture.byte_queue capture.checkpoints capture.command"
    " capture.dump_connection capture.dump_stream capture.errors capture.kept_tables capture.landed_file"
    " capture.landed_folder capture.landed_gtids capture.log_position capture.place->destination"
    " capture.published->object_store capture.reader capture.received->dump_items"
    " capture.refusals->server_refusals capture.replica_commands capture.run capture.source"
    " capture.standing->capture_status capture.start capture.state capture.take_over->failover",
    "spark": "spark->session jars java submitted->spark_submit shipping->ship_code kernels->warm_kernels"
    " cache engine",
    "bronze": "bronze.job bronze.planning bronze.plan->batch_plan bronze.scan bronze.verdict bronze.files"
    " bronze.tables bronze.order bronze.copies bronze.continuity bronze.rows bronze.ingest bronze.restore"
    " bronze.batch->carry_out bronze.executed->executed_gtids",
    "catalog": "",
    "catalog.ddl": "catalog.lexer catalog.cursor catalog.names catalog.ddl catalog.create catalog.alter"
    " catalog.actions catalog.effects catalog.column_clause catalog.column_types catalog.constants"
    " catalog.defaults catalog.temporal catalog.partition_clause catalog.partitions catalog.dml"
    " catalog.temporary catalog.dump catalog.keys catalog.model catalog.foreign_key catalog.charsets"
    " catalog.letter_case catalog.addresses catalog.declarations catalog.rekeying"
    " catalog.default_context catalog.elements catalog.expression_functions catalog.expression_reader"
    " catalog.expressions catalog.kept_expression catalog.literals catalog.numeric_defaults"
    " catalog.temporal_defaults catalog.text_defaults catalog.conversion_mode",
    "catalog.alter": "catalog.alteration catalog.kept_values catalog.partition_changes catalog.generated"
    " catalog.conversions catalog.text_conversions catalog.time_conversions"
    " catalog.logical_conversions catalog.items catalog.versions",
    "catalog.timeline": "catalog.timeline catalog.statements catalog.table_items catalog.tables"
    " catalog.definitions catalog.naming catalog.start catalog.logged catalog.seeded catalog.foreign_keys"
    " catalog.renames catalog.consequences catalog.insert_defaults catalog.touched",
    "silver": "silver.job silver.planning silver.batch->carry_out silver.anew->full_refresh",
    "silver.decode": "silver.decode silver.stretches->splitter silver.statement_faults"
    " silver.server_version silver.lossy->lossy_counts silver.table_names silver.segments silver.decoding"
    " silver.segment_content silver.segment_tasks silver.stored_segments silver.transactions silver.tables->silver_tables",
    "silver.plan": "silver.plan->batch_plan silver.refresh silver.standing->progress silver.survey"
    " silver.beginning->start_definitions silver.late_names silver.seen_before silver.claims->table_owner"
    " silver.seeds silver.seeding->take_seeds silver.known_tables silver.excerpts",
    "silver.tables": "silver.quarantine silver.views"
    " silver.batch_tables",
    "gold": "gold.job gold.planning gold.batch->carry_out",
    "gold.table": "gold.names gold.gold_table gold.state gold.refusal gold.loose_text gold.written->commit_stats"
    " gold.damage gold.foreign_commits gold.incomplete gold.write",
    "gold.changes": "gold.changes gold.extent->change_stats gold.fold gold.few_changes->small_batch"
    " gold.local_fold gold.images gold.lives gold.partial->fold_partial gold.documents gold.json_diff"
    " gold.json_paths gold.bags gold.drift gold.keys gold.refuse->refusals gold.parts->steps"
    " gold.blocks->blockers gold.faults gold.xa gold.facts->log_facts gold.transactions",
    "gold.schema": "gold.evolve gold.alter_table gold.renames gold.convert gold.generated"
    " gold.partition_rows gold.insert_defaults gold.unlogged",
    "gold.plan": "gold.plan->batch_plan gold.ways->reach gold.stops->stopped_tables"
    " gold.halts->verification_points gold.until gold.rebuild gold.cut gold.table_refresh gold.inspection",
    "gold.cascades": "gold.cascades->foresight gold.cascade_links->links gold.cascade_outlook->outlook"
    " gold.cascade_parents->parents gold.cascade_reader->reader gold.cascade_replay->replay"
    " gold.cascade_rows->rows gold.cascade_store->store",
    "gold.apply": "gold.apply gold.merge gold.seeded->seed_rows",
    "verify": "verify.against verify.canonical verify.checksums verify.chunks verify.gold_table verify.live"
    " verify.report verify.run verify.script verify.server_file verify.snapshot verify.snapshot_columns"
    " verify.staged_rows",
    "verify.state_match": "verify.way verify.position verify.cut_at verify.executed_at",
    "maintenance": "maintenance.batch maintenance.fit maintenance.job maintenance.limits maintenance.needs"
    " maintenance.plan maintenance.planning maintenance.preview maintenance.record maintenance.retention"
    " maintenance.scratch maintenance.seeds maintenance.tables maintenance.upkeep",
    "seed": "seed.chunked seed.chunks seed.consistent seed.errors seed.filling seed.folder seed.from_dump"
    " seed.jdbc seed.job seed.selection seed.server seed.source_table",
    "seed.dumps": "seed.dumps.cell_rows seed.dumps.delimited seed.dumps.feed seed.dumps.folder"
    " seed.dumps.given seed.dumps.inserts seed.dumps.model seed.dumps.mydumper seed.dumps.mysql_shell"
    " seed.dumps.mysqldump seed.dumps.open seed.dumps.statements seed.dumps.typed",
    "seed.values": "seed.values.cell_bytes seed.values.dates seed.values.documents seed.values.labels"
    " seed.values.numbers seed.values.registry seed.values.rows",
    "run": "run->commands status source_status preflight runs.recorder runs.work runs.failure",
    "cli": "cli->app cli_options->options cli_runs->run_commands cli_capture->capture_command"
    " cli_seed->seed_command cli_server->server_command task->databricks_task show inspect inspect_events"
    " inspect_rows inspect_encryption inspect_names runs.show->show_runs",
}


def modules() -> dict[str, str]:
    """Each module's old dotted name, and its new one."""
    moves: dict[str, str] = {}
    for package, rooms in (("decoder", DECODER), ("pipeline", PIPELINE)):
        for room, entries in rooms.items():
            for entry in entries.split():
                old, _, renamed = entry.partition("->")
                new = ".".join(filter(None, (package, room, renamed or old.rpartition(".")[2])))
                assert f"{package}.{old}" not in moves, old
                moves[f"{package}.{old}"] = new
    assert len(set(moves.values())) == len(moves)
    return moves


def module_name(file: str) -> str:
    return file[: -len(".py")].replace("/", ".").removesuffix(".__init__")


if __name__ == "__main__":
    import json

    print(json.dumps(modules(), indent=1, sort_keys=True))
