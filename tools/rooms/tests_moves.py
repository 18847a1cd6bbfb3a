"""Where tests and their support go: `old path -> room`, for what the names of modules do not say.

A test `tests/KIND/PACKAGE/test_X.py` goes where the module X of that package goes, and is named
after it. Those that no module names are here, by their path under tests/KIND.
"""

TESTS = {
    "decoder/test_column_kernels_in_other_modes.py": "decoder",
    "decoder/test_descriptors_in_the_middle.py": "decoder/stream",
    "decoder/test_expanding_payloads.py": "decoder/compression",
    "decoder/test_freed_segments.py": "decoder/stream",
    "decoder/test_fuzz.py": "decoder",
    "decoder/test_large_events.py": "decoder/framing",
    "decoder/test_large_payloads.py": "decoder/compression",
    "decoder/test_malformed.py": "decoder/stream",
    "decoder/test_mariadb_logs.py": "decoder/stream",
    "decoder/test_names_by_place.py": "decoder/rows",
    "decoder/test_old_rows.py": "decoder/rows",
    "decoder/test_old_versions.py": "decoder/stream",
    "decoder/test_other_processors.py": "decoder/kernels",
    "decoder/test_stream_faults.py": "decoder/stream",
    "decoder/test_stream_parts.py": "decoder/stream",
    "decoder/test_stream_payloads.py": "decoder/stream",
    "decoder/test_too_much_text.py": "decoder/columns",
    "pipeline/test_held_lake.py": "pipeline/lake/locks",
    "pipeline/test_layer_jobs.py": "pipeline",
    "pipeline/test_parquet.py": "pipeline/lake/files",
    "pipeline/test_sizes.py": "pipeline/settings",
    "pipeline/bronze/test_archived_job.py": "pipeline/bronze",
    "pipeline/bronze/test_encrypted_job.py": "pipeline/bronze",
    "pipeline/bronze/test_foreign_logs.py": "pipeline/bronze",
    "pipeline/bronze/test_refilled.py": "pipeline/bronze",
    "pipeline/bronze/test_segment_files.py": "pipeline/bronze",
    "pipeline/catalog/test_minimal_metadata.py": "pipeline/catalog/timeline",
    "pipeline/catalog/test_timeline_names.py": "pipeline/catalog/timeline",
    "pipeline/gold/test_rows_here.py": "pipeline/gold/changes",
    "pipeline/gold/test_without_spark.py": "pipeline/gold",
    "pipeline/lake_tables/test_commits_at_once.py": "pipeline/lake/tables",
    "pipeline/lake_tables/test_native_tables_in_spark.py": "pipeline/lake/tables",
    "pipeline/lake_tables/test_object_store.py": "pipeline/lake/tables",
    "pipeline/runs/test_alone.py": "pipeline/run",
    "pipeline/silver/test_engines.py": "pipeline/silver",
    "pipeline/silver/test_quarantine_table.py": "pipeline/silver/tables",
}
"""By path under tests/unit or tests/spark; what is not here and has no module goes with its
package."""

CONFTESTS = {
    "pipeline/lake_tables/conftest.py": "pipeline/lake",
}
"""Fixtures stay in their package's folder, whose rooms inherit them; these go with the package."""


def paths(files, modules, packages):
    """Old path -> new path of every test and support file of a checkout that moves."""
    moved = {}
    for file in files:
        parts = file.split("/")
        if len(parts) < 4 or parts[0] != "tests" or parts[1] not in ("unit", "spark") or not file.endswith(".py"):
            continue
        if parts[2] not in ("decoder", "pipeline"):
            continue
        kind, under, name = parts[1], "/".join(parts[2:]), parts[-1]
        package = ".".join(parts[2:-1])
        if name == "conftest.py":
            if under in CONFTESTS:
                moved[file] = f"tests/{kind}/{CONFTESTS[under]}/conftest.py"
            continue
        if under in TESTS:
            moved[file] = f"tests/{kind}/{TESTS[under]}/{name}"
            continue
        old = f"{package}.{name.removeprefix('test_').removesuffix('.py')}"
        if old in modules:
            room, _, base = modules[old].rpartition(".")
            moved[file] = f"tests/{kind}/{room.replace('.', '/')}/test_{base}.py"
        else:
            room = packages.get(package, package).replace(".", "/")
            moved[file] = f"tests/{kind}/{room}/{name}"
    return {a: b for a, b in moved.items() if a != b}


SUPPORT = {
    "bronze": "bronze_input bronze_rows excerpted",
    "catalog": "catalogued_log default_answers default_forms default_sessions",
    "dags": "dag_run standalone_airflow",
    "decoder": "archives binary_json cells dumped encrypted_log event_bytes kernels log_kinds logs mutations"
    " mysqlbinlog_rows old_logs record_fixtures record_warm_log stored",
    "gold": "compare gold_rows made_lake partial_changes",
    "lake": "aged condition_rows counted_rows kills memory_ledger native_rows object_store",
    "observe": "counted_progress said_lines",
    "seed": "seed_rows",
    "servers": "busy_primary certificates cut_network debian installation mariadb mariadb_install mydumper_install"
    " mysql mysql_install mysql_keyring older_install older_servers process_list registry_archive replicas"
    " server silent_network traffic untold_settings",
    "silver": "made_silver",
    "source": "capturing checking failing_over made_facts",
    "spark": "connect_server hung_java no_spark spark_cluster",
    "zoo": "exhaustive_zoo json_zoo mariadb_changes mariadb_zoo older_zoo partial_history partition_history"
    " random_zoo schema_changes server_values type_zoo zoo_rows",
}
"""Rooms of tests/support. `servers` are programs that are installed and run, `zoo` the SQL for
them."""
SUPPORT_DATA = {"tests/support/catalog/default_refusals/": "tests/support/catalog/default_refusals/"}

INTEGRATION = {
    "bronze": "bronze_restores_files encrypted_logs objects_put_anew raw_copies",
    "catalog": "conversions defaults_against_servers statements_against_server temporary_tables",
    "cli": "inspect_rows interrupted_commands",
    "dags": "dag_runs dag_runs_at_once",
    "decoder": "charsets_against_server foreign_binlogs foreign_rows mariadb_metadata mariadb_rows"
    " mariadb_types_against_server partial_images types_against_server",
    "gold": "damaged_gold drift_against_server faults_against_server foreign_keys gold_apply gold_begun_again"
    " gold_cascades gold_drift gold_few_changes gold_rebuild gold_refusals gold_repeated gold_rows gold_seeded"
    " gold_values_that_do_not_fit gold_without_spark gold_xa key_types_against_server"
    " rollbacks_against_server until xa_against_server",
    "maintenance": "maintained_logs maintenance",
    "run": "full_refresh older_servers_in_a_lake one_lake run_records status",
    "seed": "older_servers_are_read seed seed_chunks seed_dumps_against_servers"
    " seed_values_against_servers seed_values_through_spark",
    "settings": "sizes",
    "silver": "minimal_metadata silver_job",
    "source": "check check_patterns gtid_sets_against_server older_servers refusals_of_servers"
    " server_connection silent_servers",
    "source/capture": "capture capture_acknowledges capture_goes_on capture_into_a_store"
    " capture_of_dumps_that_end captured_definitions failover failover_of_mariadb",
    "support": "mariadb_support mysql_support",
    "verify": "canonical_texts_against_servers snapshots_of_servers verify_against_server verify_any_server"
    " verify_position verify_with_server",
}
"""Rooms of tests/integration, without `test_`. tests/e2e has no rooms: its tests go through all."""

_unit_paths = paths


def paths(files, modules, packages):  # noqa: F811
    """Old path -> new path of every test and support file of a checkout that moves."""
    moved = _unit_paths(files, modules, packages)
    for folder, table, prefix in (("support", SUPPORT, ""), ("integration", INTEGRATION, "test_")):
        rooms = {name: room for room, names in table.items() for name in names.split()}
        for file in files:
            parts = file.split("/")
            if parts[:2] != ["tests", folder] or len(parts) != 3 or not file.endswith(".py"):
                continue
            name = parts[2].removesuffix(".py").removeprefix(prefix)
            if name in rooms:
                moved[file] = f"tests/{folder}/{rooms[name]}/{parts[2]}"
            elif name != "conftest":
                print(f"no room in tests_moves.py, stays where it is: {file}")
    for old, new in SUPPORT_DATA.items():
        moved |= {file: new + file[len(old):] for file in files if file.startswith(old)}
    return moved
