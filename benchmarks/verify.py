"""Measure how many rows per second `binlake verify --against server` compares.

`make bench-verify` starts a real MySQL server with one table, replicates it to gold, and runs
verify while both are equal, and again with some different rows, whose keys verify has to report.
The peak memory of this process, without Spark's, is printed too: the server's rows pass through it.
Exit code 1 if verify reports other differences than the changed rows.
"""

from __future__ import annotations

import argparse
import resource
import sys
import tempfile
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

from pyspark.sql import SparkSession

from benchmarks.marked import table
from benchmarks.seed import SCHEMA, fill
from pipeline.observe.progress import QuietProgress
from pipeline.settings import Settings
from pipeline.spark.session import session
from pipeline.verify.run import verify_with_server
from tests.support.lake.run_layers import run_layers
from tests.support.servers.mysql import MySQLServer

ROWS = 1_500_000
ROUNDS = 2
TASKS = 2
CHANGED = 5


@dataclass(frozen=True, slots=True)
class Round:
    """The rows that differ, verify's seconds, and the process's peak resident set so far in MiB."""

    differing: int
    seconds: float
    memory: int


def main() -> int:
    """Run the benchmark and print a table."""
    arguments = parse_arguments()
    with tempfile.TemporaryDirectory() as scratch:
        folder = Path(scratch)
        with MySQLServer(folder / "server") as server:
            server.reset_logs()
            fill(server, arguments.rows)
            settings = _settings(server, folder / "lake")
            spark = session(settings, "bench-verify")
            run_layers(spark, settings, QuietProgress())
            rounds = [_round(spark, settings, 0) for _ in range(arguments.rounds)]
            _change(server, arguments.rows)
            rounds += [_round(spark, settings, CHANGED) for _ in range(arguments.rounds)]
            spark.stop()
    heads = ("rows", "differing", "seconds", "rows/s", "resident at most")
    print(table(heads, [_line(one, arguments.rows) for one in rounds]))
    return 0


def parse_arguments() -> argparse.Namespace:
    """Parse the numbers of rows and of rounds of each kind."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rows", type=int, default=ROWS)
    parser.add_argument("--rounds", type=int, default=ROUNDS)
    return parser.parse_args()


def _settings(server: MySQLServer, lake: Path) -> Settings:
    return Settings.load(
        None,
        source="speed",
        lake=str(lake),
        binlogs=str(server.binlog_folder),
        include=[f"{SCHEMA}.orders"],
        server=f"mysql://root@127.0.0.1:{server.port}",
        spark={"master": f"local[{TASKS}]"},
    )


def _change(server: MySQLServer, rows: int) -> None:
    """Change `CHANGED` rows, spread over the table, without logging them."""
    step = rows // CHANGED
    server.execute(
        f"SET sql_log_bin = 0; UPDATE {SCHEMA}.orders SET amount = amount + 1 WHERE id % {step} = 1"
    )


def _round(spark: SparkSession, settings: Settings, differing: int) -> Round:
    counts: list[int] = []

    def verify() -> None:
        found = verify_with_server(spark, settings, QuietProgress(), patience=60).against
        if found is None or found.position:
            sys.exit(f"The server and gold were not compared at the same position: {found}")
        counts.extend(table.count or 0 for table in found.differences)

    seconds = _timed(verify)
    if sum(counts) != differing:
        sys.exit(f"{differing} rows were changed, but verify reported {counts}.")
    return Round(differing, seconds, resource.getrusage(resource.RUSAGE_SELF).ru_maxrss >> 10)


def _timed(run: Callable[[], object]) -> float:
    began = time.perf_counter()
    run()
    return time.perf_counter() - began


def _line(one: Round, rows: int) -> Sequence[str]:
    speed = f"{rows / one.seconds:,.0f}"
    return f"{rows:,}", str(one.differing), f"{one.seconds:.1f}", speed, f"{one.memory} MiB"


if __name__ == "__main__":
    sys.exit(main())
