"""The house: what is in each room, who may import whom, and what a room shows to the others.

`pipeline.gold.plan.batch_plan.cut` is in the room `pipeline.gold.plan.batch_plan`, which is in
`pipeline.gold`. A room's face is `__all__` in its `__init__.py`: names, and modules whose names
others may import.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cache
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]

MOST_ENTRIES = 15
LEAST_LINES = 40
OF_THE_PACKAGE = ("__init__.py", "py.typed")
"""No entries of a room: `py.typed` tells type checkers that a package's annotations count."""


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
        "bronze/ catalog/ cli/ errors gold/ lake/ maintenance/ observe/ run/ seed/ settings/ "
        "silver/ source/ spark/ verify/"
    ),
    "pipeline.bronze": (
        "batch_plan carry_out continuity copies executed_gtids files ingest job order "
        "planning restore rows scan tables verdict"
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
    "pipeline.run": ("commands failure operations preflight recorder source_status status work"),
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
        "decode decoding lossy_counts segment_content segment_tasks segments server_version "
        "silver_tables splitter statement_faults stored_segments table_names transactions"
    ),
    "pipeline.silver.plan": (
        "batch_plan excerpts known_tables late_names progress refresh seeds seen_before "
        "start_definitions survey table_owner take_seeds"
    ),
    "pipeline.silver.tables": "batch_tables quarantine views",
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
    "pipeline.silver.decode.server_version": "a question to a log's first event",
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

BANNED_IN_DECODER = frozenset(
    {"pyspark", "delta", "pipeline", "logging", "fsspec", "typer", "rich", "pydantic"}
)


def modules(house: House, *packages: str) -> dict[str, Path]:
    """All modules by their dotted names; a room's own name is that of its `__init__.py`."""
    return {
        _dotted(path.relative_to(house.root)): path
        for package in packages or house.packages
        for path in sorted((house.root / package).rglob("*.py"))
    }


def _dotted(path: Path) -> str:
    return ".".join(path.with_suffix("").parts).removesuffix(".__init__")


@cache
def imports(path: Path, *, at_run_time: bool = False) -> frozenset[str]:
    """Full names of what a file imports: modules, and names with their module before them.

    Inside functions and type checks too, unless `at_run_time`, which a circle would break. Not
    those of `if __name__ == "__main__":`, where a layer's job becomes a command.
    """
    body = [
        statement
        for statement in ast.parse(path.read_text()).body
        if not (isinstance(statement, ast.If) and "__main__" in ast.unparse(statement.test))
    ]
    nodes = body if at_run_time else [node for each in body for node in ast.walk(each)]
    return frozenset(name for node in nodes for name in _imported(node))


def _imported(node: ast.AST) -> Iterator[str]:
    if isinstance(node, ast.Import):
        yield from (alias.name for alias in node.names)
    elif isinstance(node, ast.ImportFrom) and node.module and not node.level:
        yield from (f"{node.module}.{alias.name}" for alias in node.names)


def rooms_between(root: Path, importer: str, imported: str) -> Iterator[tuple[str, str]]:
    """The rooms that an import enters, from outside in, each with what of it is imported.

    Packages are no rooms: what lies in them is open to each other.
    """
    parts = imported.split(".")
    for number in range(2, len(parts)):
        room = ".".join(parts[:number])
        if not (root / Path(*parts[:number])).is_dir():
            return
        if importer != room and not importer.startswith(f"{room}."):
            yield room, parts[number]


@cache
def face(path: Path) -> frozenset[str]:
    """What a room's `__init__.py` has in `__all__`."""
    for node in ast.parse(path.read_text()).body:
        if isinstance(node, ast.Assign) and ast.unparse(node.targets[0]) == "__all__":
            return frozenset(ast.literal_eval(node.value))
    return frozenset()


def entry(room: str, name: str) -> str | None:
    """Which entry of a room something belongs to; None for the room itself and what is outside."""
    return name[len(room) + 1 :].split(".")[0] if name.startswith(f"{room}.") else None


def _is_there(path: Path) -> bool:
    """Return False for what Python leaves behind where a room was."""
    if path.is_file() or path.name == "__pycache__":
        return path.is_file() and path.parent.name != "__pycache__"
    return any(_is_there(each) for each in path.iterdir())


def strangers(house: House) -> Iterator[str]:
    """Entries that are not listed, listed ones that are not there, and what order leaves out."""
    found = {
        _dotted(folder.relative_to(house.root)): {
            f"{each.name}/" if each.is_dir() else each.name.removesuffix(".py")
            for each in folder.iterdir()
            if each.name not in OF_THE_PACKAGE and _is_there(each)
        }
        for package in house.packages
        for folder in [house.root / package, *(house.root / package).rglob("*")]
        if folder.is_dir() and _is_there(folder)
    }
    for room in sorted(found.keys() | house.rooms.keys()):
        there, listed = found.get(room, set()), set(house.rooms.get(room, "").split())
        yield from (f"{room} has {each}, which is not listed" for each in sorted(there - listed))
        yield from (f"{room} has no {each}" for each in sorted(listed - there))
    for room, steps in house.order.items():
        ordered = {name for step in steps for name in step.split()}
        own = {name.rstrip("/") for name in house.rooms[room].split() if "." not in name}
        yield from (f"{room}: {each} has no place in the order" for each in sorted(own ^ ordered))


def wrong_ways(house: House) -> Iterator[str]:
    """Imports against the order of packages, and of the entries of a room."""
    place = {
        (room, name): number
        for room, steps in house.order.items()
        for number, step in enumerate(steps)
        for name in step.split()
    }
    for importer, path in modules(house).items():
        for imported in sorted(imports(path)):
            if (importer, imported) in house.allowed:
                continue
            own, other = importer.split(".")[0], imported.split(".")[0]
            if other in house.packages and house.packages.index(other) > house.packages.index(own):
                yield f"{importer} imports {imported}"
            for room in house.order:
                here, there = entry(room, importer), entry(room, imported)
                if here is None or there is None or here == there:
                    continue
                if place.get((room, there), len(place)) >= place.get((room, here), -1):
                    yield f"{importer} imports {imported}"


def circles(house: House) -> Iterator[str]:
    """Rooms without an order whose entries import each other in a circle when they are loaded."""
    for room in house.rooms.keys() - house.order.keys():
        graph: dict[str, set[str]] = {}
        for importer, path in modules(house).items():
            if (own := entry(room, importer)) is not None:
                used = (entry(room, name) for name in imports(path, at_run_time=True))
                graph.setdefault(own, set()).update(
                    name for name in used if name not in (None, own)
                )
        settled: set[str] = set()
        while (
            ready := {name for name, used in graph.items() if used & graph.keys() <= settled}
            - settled
        ):
            settled |= ready
        if circle := sorted(graph.keys() - settled):
            yield f"{room}: a circle among {', '.join(circle)}"


def side_doors(house: House) -> Iterator[str]:
    """Imports from outside of a room that its face does not show, and modules shown to nobody."""
    entered: set[tuple[str, str]] = set()
    for importer, path in modules(house, *house.packages, *house.guests).items():
        used = (name for name in imports(path) if name.split(".")[0] in house.packages)
        for imported in sorted(used):
            for room, name in rooms_between(house.root, importer, imported):
                entered.add((room, name))
                shown = face(house.root / Path(*room.split(".")) / "__init__.py")
                if name not in shown and (importer, imported) not in house.allowed:
                    yield f"{importer} imports {imported}: {room} does not show {name}"
    for room, entries in house.rooms.items():
        if room in house.packages:
            continue
        own = {name.rstrip("/") for name in entries.split()}
        for name in sorted(own & face(house.root / Path(*room.split(".")) / "__init__.py")):
            if (room, name) not in entered:
                yield f"{room} shows {name}, which nobody outside imports"


def sizes(house: House) -> Iterator[str]:
    """Rooms with too many entries, modules with too few lines, and exceptions that are none."""
    for room, listed in house.rooms.items():
        if (len(listed.split()) > MOST_ENTRIES) != (room in house.large):
            yield f"{room} has {len(listed.split())} entries"
    reasons = set()
    for name, path in modules(house).items():
        if path.name == "__init__.py" or len(path.read_text().splitlines()) >= LEAST_LINES:
            continue
        reason = {name, name.rpartition(".")[0]} & house.small.keys()
        if not reason:
            yield f"{name} has fewer than {LEAST_LINES} lines"
        reasons |= reason
    yield from (f"{name} is not small" for name in sorted(house.small.keys() - reasons))


RULES = (strangers, wrong_ways, circles, side_doors, sizes)


@pytest.mark.parametrize("rule", RULES, ids=lambda rule: rule.__name__)
def test_the_house_is_in_order(rule: Callable[[House], Iterator[str]]) -> None:
    assert not list(rule(HOUSE))


def test_what_is_allowed_is_needed() -> None:
    for importer, imported in ALLOWED:
        assert imported in imports(modules(HOUSE)[importer])


def test_every_room_has_one_sentence_of_purpose() -> None:
    for room in ROOMS:
        path = ROOT / Path(*room.split(".")) / "__init__.py"
        said = ast.get_docstring(ast.parse(path.read_text())) or ""
        assert re.match(r"\S.*[.:]$", said.split("\n\n")[0].replace("\n", " ")), room


@pytest.mark.parametrize("name", modules(HOUSE, "decoder"))
def test_the_decoder_knows_no_spark_pipeline_or_logging(name: str) -> None:
    used = imports(modules(HOUSE, "decoder")[name])
    assert not {each for each in used if each.split(".")[0] in BANNED_IN_DECODER}


@pytest.mark.parametrize("name", modules(HOUSE, "dags"))
def test_dags_know_nothing_of_the_pipeline(name: str) -> None:
    """Airflow may be where Binlake is not: only what spark-submit gets imports it, as it runs."""
    path = modules(HOUSE, "dags")[name]
    used = imports(path, at_run_time=name.startswith("dags.spark_application"))
    assert not {each for each in used if each.split(".")[0] in PACKAGES}


@pytest.mark.parametrize("name", modules(HOUSE, "decoder"))
def test_the_decoder_opens_no_files(name: str) -> None:
    calls = {
        node.func.id
        for node in ast.walk(ast.parse(modules(HOUSE, "decoder")[name].read_text()))
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Name)
    }
    assert not calls & {"open", "print", "input"}


LONG = "x = 1\n" * LEAST_LINES


@pytest.fixture
def shed(tmp_path: Path) -> House:
    """A house of two packages that keeps every rule."""
    files = {
        "first/__init__.py": "",
        "first/tools/__init__.py": '__all__ = ["saw"]\n',
        "first/tools/saw.py": LONG,
        "first/tools/hidden.py": LONG,
        "first/bench/__init__.py": "",
        "first/bench/vice.py": f"from first.tools.saw import x\n{LONG}",
        "second/__init__.py": "",
        "second/user.py": f"from first.tools import saw\n{LONG}",
    }
    for name, text in files.items():
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text(text)
    rooms = {
        "first": "tools/ bench/",
        "first.tools": "saw hidden",
        "first.bench": "vice",
        "second": "user",
    }
    order = {"first": ("tools", "bench")}
    return House(tmp_path, ("first", "second"), rooms, order)


def test_a_house_that_keeps_the_rules(shed: House) -> None:
    assert not [said for rule in RULES for said in rule(shed)]


@pytest.mark.parametrize(
    ("file", "text", "said"),
    [
        ("first/bench/loose.py", LONG, "first.bench has loose, which is not listed"),
        ("first/attic/__init__.py", "", "first has attic/, which is not listed"),
        (
            "first/tools/saw.py",
            f"import first.bench.vice\n{LONG}",
            "first.tools.saw imports first.bench.vice",
        ),
        (
            "first/tools/saw.py",
            f"def f():\n    from second.user import x\n{LONG}",
            "first.tools.saw imports second.user.x",
        ),
        (
            "second/user.py",
            f"from first.tools import saw\nfrom first.tools.hidden import x\n{LONG}",
            "second.user imports first.tools.hidden.x: first.tools does not show hidden",
        ),
        (
            "first/tools/__init__.py",
            '__all__ = ["hidden", "saw"]\n',
            "first.tools shows hidden, which nobody outside imports",
        ),
        (
            "first/tools/hidden.py",
            f"from first.tools import saw\n{LONG}",
            None,
        ),
        ("first/tools/hidden.py", "x = 1\n", "first.tools.hidden has fewer than 40 lines"),
    ],
)
def test_a_breach_is_found(shed: House, file: str, text: str, said: str | None) -> None:
    (shed.root / file).parent.mkdir(exist_ok=True)
    (shed.root / file).write_text(text)
    imports.cache_clear()
    face.cache_clear()
    found = [breach for rule in RULES for breach in rule(shed)]
    assert said in found if said else not found


def test_a_circle_a_full_room_and_a_lost_entry_are_found(shed: House) -> None:
    for one, other in (("saw", "hidden"), ("hidden", "saw")):
        (shed.root / f"first/tools/{one}.py").write_text(f"from first.tools import {other}\n{LONG}")
    imports.cache_clear()
    assert list(circles(shed)) == ["first.tools: a circle among hidden, saw"]
    full = replace(shed, rooms={"first.bench": " ".join(f"m{n}" for n in range(16))}, order={})
    assert "first.bench has 16 entries" in list(sizes(full))
    assert "first.bench has no m0" in list(strangers(full))
    assert list(sizes(replace(shed, small={"first.tools.saw": "why"}))) == [
        "first.tools.saw is not small"
    ]
