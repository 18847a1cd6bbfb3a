"""Compare the speed of `binlake seed` with that of Spark's JDBC source.

`make bench-seed` starts a real MySQL server with one table. Both read it over TCP, in turn, with
the same number of connections: Spark's JDBC source, with Spark's types, into a sink that discards
the rows; and `binlake seed`, which converts bytes to the decoder's types, writes Parquet, and reads
log positions. Exit code 1 if the seed lacks rows.
"""

from __future__ import annotations

import argparse
import statistics
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

from pyspark.sql import SparkSession

from benchmarks.marked import table
from pipeline.observe.progress import QuietProgress
from pipeline.run import run_command
from pipeline.seed.jdbc import JdbcSource
from pipeline.settings import Settings
from pipeline.source.server.login import login
from pipeline.source.server.version import ServerVersion
from pipeline.spark.session import session
from tests.support.servers.mysql import MySQLServer

ROWS = 2_000_000
ROUNDS = 3
TASKS = 2
SCHEMA = "speed"
DIGITS = f"(SELECT 0 AS n{' UNION ALL SELECT '.join(['', *map(str, range(1, 10))])})"


def main() -> int:
    """Run the benchmark and print a table."""
    arguments = parse_arguments()
    with tempfile.TemporaryDirectory() as scratch:
        folder = Path(scratch)
        with MySQLServer(folder / "server") as server:
            fill(server, arguments.rows)
            settings = _settings(server, folder / "lake", arguments.rows)
            spark = session(settings, "bench-seed", connector=True)
            raced = []
            for _ in range(arguments.rounds):
                alone = _timed(lambda: _read(spark, settings, arguments.rows))
                seeding = _timed(lambda: _seed(spark, settings, arguments.rows))
                raced.append((alone, seeding))
            spark.stop()
    heads = ("rows", "Spark JDBC alone", "binlake seed", "ratio of speeds")
    print(table(heads, _rows(raced, arguments.rows)))
    return 0


def parse_arguments() -> argparse.Namespace:
    """Parse the numbers of rows and rounds."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rows", type=int, default=ROWS)
    parser.add_argument("--rounds", type=int, default=ROUNDS)
    return parser.parse_args()


def _settings(server: MySQLServer, lake: Path, rows: int) -> Settings:
    return Settings.load(
        None,
        source="speed",
        lake=str(lake),
        server=f"mysql://root@127.0.0.1:{server.port}",
        seed={"tables": [f"{SCHEMA}.*"], "parallel": TASKS, "chunk_rows": rows // (2 * TASKS)},
        spark={"master": f"local[{TASKS}]"},
    )


def fill(server: MySQLServer, rows: int) -> None:
    """Create and fill a typical table: numbers, a decimal, a time, an enum, text."""
    server.execute(f"""
        CREATE DATABASE {SCHEMA}; USE {SCHEMA};
        CREATE TABLE numbers (n INT PRIMARY KEY);
        INSERT INTO numbers
            SELECT a.n + 10 * b.n + 100 * c.n FROM {DIGITS} a, {DIGITS} b, {DIGITS} c;
        CREATE TABLE orders (
            id BIGINT UNSIGNED PRIMARY KEY, customer INT, state ENUM('new', 'paid', 'sent'),
            amount DECIMAL(12, 2), made DATETIME(3), name VARCHAR(60), note TEXT
        );
        INSERT INTO orders
            SELECT n, n % 1000, 1 + n % 3, n / 100, '2024-01-01' + INTERVAL n SECOND,
                CONCAT('customer ', n % 1000), IF(n % 10, NULL, REPEAT('note ', 20))
            FROM (
                SELECT c.n * 1000000 + a.n * 1000 + b.n AS n FROM numbers a, numbers b, {DIGITS} c
            ) counted WHERE n < {rows};
        ANALYZE TABLE orders; DROP TABLE numbers
    """)


def _timed(run: Callable[[], object]) -> float:
    began = time.perf_counter()
    run()
    return time.perf_counter() - began


def _read(spark: SparkSession, settings: Settings, rows: int) -> None:
    """Read as many ranges of the key as the seed has chunks, with the same parallelism."""
    source = JdbcSource(login(settings), ServerVersion.read("9.7.0"))
    reader = spark.read.format("jdbc").options(**source.options)
    bounds = {"partitionColumn": "id", "lowerBound": "0", "upperBound": str(rows)}
    reader = reader.options(**bounds, numPartitions=str(2 * TASKS), dbtable=f"{SCHEMA}.orders")
    reader.load().write.format("noop").mode("overwrite").save()


def _seed(spark: SparkSession, settings: Settings, rows: int) -> None:
    (report,) = run_command(spark, settings, QuietProgress(), "seed")
    if report.faults or report.counts["rows"] != rows:
        sys.exit(f"Not all rows were seeded: {report}")


def _rows(raced: list[tuple[float, float]], rows: int) -> list[tuple[str, ...]]:
    speeds = [statistics.median(rows / one for one in side) for side in zip(*raced, strict=True)]
    ratio = statistics.median(alone / seeding for alone, seeding in raced)
    return [(f"{rows:,}", *(f"{speed:,.0f} rows/s" for speed in speeds), f"{ratio:.2f}")]


if __name__ == "__main__":
    sys.exit(main())
