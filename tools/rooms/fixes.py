"""Small changes that no table of names says: each is an exact replacement that must apply once."""

from __future__ import annotations

import ast
from pathlib import Path


def apply(checkout: Path) -> None:
    """Apply them all; a file that is gone is passed over, a text that is not there is reported."""
    for file, old, new in REPLACEMENTS:
        path = checkout / file
        if not path.exists():
            print(f"fix passed over, no {file}")
            continue
        text = path.read_text()
        if text.count(old) != 1:
            if new not in text:
                print(f"FIX DOES NOT APPLY ({text.count(old)} times): {file}: {old[:70]!r}")
            continue
        path.write_text(text.replace(old, new))
    _move_known(checkout)
    page = checkout / "docs/architecture.md"
    if page.exists():
        text = page.read_text()
        for old, new in PASSES.items():
            text = text.replace(f"`{old}`", f"`{new}`")
        page.write_text(text)
    # The decoder's recorded log lies beside the module that reads it.
    for file in (file for top in TOPS for file in (checkout / top).rglob("*.py")):
        text = file.read_text()
        new = text.replace('"decoder" / "stream" / "warm.binlog.zst"', '"decoder" / "stream" / "warm.binlog.zst"').replace(
            'files("decoder.stream").joinpath("warm.', 'files("decoder.stream.segment_decoder").joinpath("warm.'
        )
        if new != text:
            file.write_text(new)


PASSES = {
    "dumped_rows": "dump_text/rows",
    "dumped_statements": "dump_text/statements",
    "format_reader": "framing/layout_tracker",
    "framing": "framing/frames",
    "hold": "lease_guard",
    "inner_windows": "compression/payload_windows",
    "gold/seeded": "gold/apply/seed_rows",
    "kernel_cache": "kernels/cache",
    "lake_tables": "lake/tables",
    "silver/seeding": "silver/plan/take_seeds",
    "log_lines": "observe/log",
    "packets": "framing/replication_packets",
    "passed_payload": "compression/oversized_payload",
    "payloads": "compression/payload_decoder",
    "plan": "rows/image_layout",
    "published": "object_store",
    "session": "transactions/state",
    "shipping": "spark/ship_code",
    "standing": "capture_status",
    "stream": "stream/segment_decoder",
    "submitted": "spark/spark_submit",
    "take_over": "failover",
    "transactions": "transactions/boundaries",
    "under_way": "observe/current_run",
    "walk": "rows/walker",
    "warm": "stream/precompile",
}
"""Modules by the bare names that docs/architecture.md has for them."""
TOPS = ("decoder", "pipeline", "tests", "benchmarks", "demo", "dags", "tools")
REPLACEMENTS = [
    # A folder of the product is called so now; the lakes of a checkout are at its root.
    ("benchmarks/mutants.py", '"__pycache__", ".*", "dist", "lake")', '"__pycache__", ".*", "dist")'),
    # A room beside a job shadows a library just as a module does.
    (
        "tests/unit/pipeline/test_layer_jobs.py",
        'names = {path.stem for path in job.parent.glob("*.py")}',
        "names = {path.stem for path in job.parent.iterdir()}",
    ),
    (
        "docs/architecture.md",
        "   `pipeline` (`errors, stores, lake, settings, spark, delta, ledger → server → bronze → capture, catalog, silver → gold → verify,\n"
        "   seed, runs, maintenance, run → cli`). `tests/unit/test_import_direction.py` enforces it. Airflow's DAGs (`dags`,\n",
        "   `pipeline` (`errors ← observe ← lake ← settings ← source, spark ← bronze, catalog ← silver ← gold ← verify, maintenance ←\n"
        "   seed ← run ← cli`). Each folder is a room: others import only what its `__init__.py` has in `__all__`.\n"
        "   `tests/unit/test_house.py` enforces both, and lists what is in each room. Airflow's DAGs (`dags`,\n",
    ),
    # The module that writes itself into charsets' folder.
    ("tools/charset_tables.py", '"decoder" / "charsets"', '"decoder" / "columns" / "charsets"'),
    (
        "tests/integration/dags/test_dag_runs.py",
        '-c "from pipeline.cli.databricks_task import main; main()" "$@"; exit $?;;"""',
        '-c "{_TASK}" "$@"; exit $?;;"""',
    ),
    (
        "tests/integration/dags/test_dag_runs.py",
        "REAL = (\n",
        '_TASK = "from pipeline.cli.databricks_task import main; main()"\nREAL = (\n',
    ),
    # Interruption (observe) asked a session of the lake's room whether it is connected.
    (
        "pipeline/observe/interruption.py",
        "    from pipeline.lake.child_sessions import is_connected\n\n"
        "    return None if spark is None or is_connected(spark) else spark.sparkContext\n",
        '    if spark is None or not hasattr(spark, "_jsparkSession"):\n'
        "        return None\n"
        "    return spark.sparkContext\n",
    ),
]


def _move_known(checkout: Path) -> None:
    """`known` of gold's convert goes to images, which are before: fold_partial uses it too."""
    source = checkout / "pipeline/gold/schema/convert.py"
    target = checkout / "pipeline/gold/changes/images.py"
    if not (source.exists() and target.exists()):
        return
    text = source.read_text()
    nodes = [n for n in ast.parse(text).body if isinstance(n, ast.FunctionDef) and n.name == "known"]
    if not nodes:
        return
    lines = text.splitlines(keepends=True)
    first, last = nodes[0].lineno - 1, nodes[0].end_lineno
    function = "".join(lines[first:last])
    text = "".join(lines[:first] + lines[last:])
    anchor = "from pyspark.sql import Column"
    at = text.index("\n", text.index("from pipeline.catalog"))
    text = text[: at + 1] + "from pipeline.gold.changes.images import known\n" + text[at + 1 :]
    assert anchor in text
    source.write_text(text)
    target.write_text(target.read_text().rstrip("\n") + "\n\n\n" + function)
    for file in (checkout / "pipeline/gold").rglob("*.py"):
        if file == source:
            continue
        said = file.read_text()
        new = said.replace(
            "from pipeline.gold.schema.convert import converted, known\n",
            "from pipeline.gold.changes.images import known\nfrom pipeline.gold.schema.convert import converted\n",
        ).replace(
            "from pipeline.gold.schema.convert import known\n", "from pipeline.gold.changes.images import known\n"
        )
        if new != said:
            file.write_text(new)
