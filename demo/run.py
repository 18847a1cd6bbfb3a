"""`make demo`: `binlake run` on the recorded shop, then a look at the result.

Run: `python -m demo.run [LAKE]`. A second run finds nothing new to do.
"""

from __future__ import annotations

import json
import os
import shlex
import sys
from collections.abc import Sequence
from pathlib import Path

from rich.console import Console

FOLDER = Path(__file__).parent
REPOSITORY = FOLDER.parent
LAKE = REPOSITORY / ".cache" / "demo-lake"
PROGRAMS = REPOSITORY / ".venv" / "bin"
SNIPPET = """
from deltalake import DeltaTable, QueryBuilder
orders = DeltaTable({orders})
query = "SELECT status, COUNT(*), SUM(total) FROM orders GROUP BY status"
print(QueryBuilder().register("orders", orders).execute(query).read_all())"""
"""A query of a gold table: to_pandas() does not read deletion vectors and mapped columns."""


def main() -> int:
    """Run all layers, show gold, and return the exit code that `binlake run` would."""
    lake = Path(sys.argv[1]) if len(sys.argv) > 1 else LAKE
    screen = Console()
    options = {"source": "shop", "binlogs": str(FOLDER / "binlogs"), "lake": str(lake)}
    again = "Seconds; the first time, a minute or two: it"
    if lake.exists():
        again = "A second run is incremental: it"
    _print(
        screen,
        "This replicates four binlog files of a small shop, recorded from a MySQL server,",
        "into Delta tables: bronze (bytes), silver (changes), gold (the shop's tables).",
        f"{again} does the same as",
        "",
        command("run", **{name: shown(value) for name, value in options.items()}),
        "",
    )
    equal, code = _replicate(options, screen)
    _print(screen, "What to do next", "")
    for title, line in next_steps(lake):
        _print(screen, title, line, "")
    _print(screen, "Your own server's binlogs: see the section of that name in README.md.")
    return code if equal else 1


def _replicate(options: dict[str, str], screen: Console) -> tuple[bool, int]:
    """Run all layers and show gold; return True if it equals the source, and the exit code."""
    # Imported here: they take seconds.
    import binlake
    from demo.show import show_changes, show_figures, show_gold
    from pipeline.cli import show_problems, show_reports
    from pipeline.observe import set_up_log, terminal_progress
    from pipeline.run import exit_code, read_status, run_command
    from pipeline.settings import Settings
    from pipeline.spark import spark_for

    settings, progress = Settings.load(None, **options), terminal_progress()
    spark = spark_for(settings, progress, beside=True)
    before = {(t.schema, t.table): t.lsn for t in read_status(spark, settings).tables}
    logged = set_up_log(settings.log)
    reports = run_command(spark, settings, progress, "run")
    if not logged:
        show_problems(reports, Console(stderr=True))
    show_reports(reports, settings, screen)
    screen.print()

    tables = [t for t in read_status(spark, settings).tables if not t.dropped]
    show_changes(settings.layout, tables, before, screen)
    gold = binlake.read(settings, engine="arrow")
    for name, rows in gold.items():
        show_gold(name, rows, screen)
    equal = show_figures(gold, FOLDER / "expected.json", screen)
    return equal, exit_code(reports)


def next_steps(lake: Path) -> Sequence[tuple[str, str]]:
    """Return what to try next, each with a command to copy, as it is run from this folder."""
    snippet = SNIPPET.replace("{orders}", json.dumps(shown(lake / "gold" / "shop" / "orders")))
    inspect, log = command("inspect"), shown(FOLDER / "binlogs" / "binlog.000001")
    return (
        ("The lake's state (lag, positions, problems):", command("status", lake=shown(lake))),
        ("A gold table, queried without Spark:", shlex.join([_program("python"), "-c", snippet])),
        ("The events of a binlog:", f"{inspect} {shlex.quote(log)}"),
        ("All commands, with an example of each:", command("--help")),
        ("The same as a DAG in a local Airflow:", "make airflow"),
    )


def command(name: str, **options: str) -> str:
    """Return a `binlake` command line for the shell."""
    given = [word for key, value in options.items() for word in (f"--{key}", value)]
    return shlex.join([_program("binlake"), name, *given])


def _program(name: str) -> str:
    return shown(PROGRAMS / name)


def shown(path: str | Path) -> str:
    """Return a path relative to the current folder if it lies below, else as it is."""
    absolute, here = os.path.abspath(path), os.getcwd()
    below = os.path.commonpath([absolute, here]) == here
    return os.path.relpath(absolute, here) if below and Path(path).is_absolute() else str(path)


def _print(screen: Console, *lines: str) -> None:
    for line in lines:
        screen.print(line, soft_wrap=True, highlight=False, markup=False)


if __name__ == "__main__":
    from pipeline.errors import BinlakeError

    try:
        sys.exit(main())
    except BinlakeError as error:
        print(f"demo: {error}", file=sys.stderr)
        sys.exit(error.exit_code)
