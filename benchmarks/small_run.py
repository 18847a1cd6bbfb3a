"""Compare a run with few changes to plain MERGEs of the same rows.

Each round changes some rows of five tables on a real server (about 50 kB of binlog), times a run of
all layers in a warm JVM, and then one `MERGE INTO` per table of the same rows, one after the other
in the same session. Run: `make bench-small`, or `python -m benchmarks.small_run [ROUNDS]`.
"""

from __future__ import annotations

import statistics
import sys
import tempfile
import time
from collections import Counter
from pathlib import Path

from pyspark.sql import SparkSession
from rich.console import Console

from benchmarks.end_to_end import settings_for, started
from pipeline.lake import delta
from pipeline.observe.progress import QuietProgress
from pipeline.settings import Settings
from tests.support.lake.run_layers import run_layers
from tests.support.servers.mysql import MySQLServer

SCHEMA = "small"
TABLES = ("customers", "orders", "order_lines", "visits", "stock")
ROWS = 1000
ROUNDS = 5
WARM_UP = 2
"""Rounds that are not counted, in which the JVM compiles hot code."""
COLUMNS = "id INT PRIMARY KEY, a INT, b VARCHAR(80), c DECIMAL(10,2), d DATETIME"
CHANGED = "id % 9 = {0} OR id > 100000"


def main() -> int:
    """Run the benchmark and print the times."""
    rounds = int(sys.argv[1]) if len(sys.argv) > 1 else ROUNDS
    screen = Console()
    with tempfile.TemporaryDirectory() as folder, MySQLServer(Path(folder) / "server") as server:
        settings = settings_for(str(server.binlog_folder), f"{folder}/lake")
        settings = settings.model_copy(update={"include": (f"{SCHEMA}.*",)})
        spark = started(settings, "binlake small run")
        _fill(server)
        run_layers(spark, settings, QuietProgress())
        for name in TABLES:
            gold = delta.read(spark, settings.layout.gold(SCHEMA, name))
            gold.write.format("delta").save(f"{folder}/plain/{name}")
        _rounds(server, spark, settings, rounds, screen, f"{folder}/plain")
    return 0


def _rounds(
    server: MySQLServer,
    spark: SparkSession,
    settings: Settings,
    rounds: int,
    screen: Console,
    plain: str,
) -> None:
    runs: list[float] = []
    merges: list[float] = []
    layers: Counter[str] = Counter()
    for number in range(WARM_UP + rounds):
        before = sum(file.stat().st_size for file in server.binlogs())
        _change(server, number)
        size = sum(file.stat().st_size for file in server.binlogs()) - before
        reports = run_layers(spark, settings, QuietProgress())
        seconds = sum(report.seconds for report in reports)
        merged = _merge(server, spark, number, plain)
        if number < WARM_UP:
            continue
        runs.append(seconds)
        merges.append(merged)
        layers.update({report.layer: report.seconds for report in reports})
        by_layer = ", ".join(f"{report.layer} {report.seconds:.2f}" for report in reports)
        screen.print(
            f"{size / 1e3:.0f} kB to {len(TABLES)} tables: {seconds:.2f} s ({by_layer});"
            f" plain MERGEs {merged:.2f} s; {seconds / merged:.2f} times"
        )
    ratio = statistics.median(runs) / statistics.median(merges)
    shares = ", ".join(f"{layer} {seconds / rounds:.2f} s" for layer, seconds in layers.items())
    screen.print(
        f"median: {statistics.median(runs):.2f} s, {ratio:.2f} times the MERGEs ({shares})"
    )


def _fill(server: MySQLServer) -> None:
    server.execute(f"CREATE DATABASE {SCHEMA}")
    with server.connect(database=SCHEMA) as connection, connection.cursor() as cursor:
        for name in TABLES:
            cursor.execute(f"CREATE TABLE {name} ({COLUMNS})")
            cursor.execute(
                f"INSERT INTO {name} WITH RECURSIVE n (i) AS"
                f" (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < {ROWS})"
                " SELECT i, i, CONCAT('row ', i), i / 4, NOW() FROM n"
            )


def _change(server: MySQLServer, number: int) -> None:
    """Change a ninth of each table's rows, and add two."""
    for name in TABLES:
        new = 100_000 + number * 2
        server.execute(
            f"UPDATE {SCHEMA}.{name} SET a = a + 1, b = CONCAT('changed in round {number}, row ',"
            f" id) WHERE id % 9 = {number % 9} AND id <= {ROWS};"
            f"INSERT INTO {SCHEMA}.{name} VALUES ({new + 1}, 1, 'new', 1, NOW()),"
            f" ({new + 2}, 2, 'new', 2, NOW())"
        )
    server.flush_logs()


def _merge(server: MySQLServer, spark: SparkSession, number: int, plain: str) -> float:
    """Return the seconds that plain MERGEs of the same rows take."""
    began = time.monotonic()
    for name in TABLES:
        rows = server.execute(
            f"SELECT id, a, b, c, d FROM {SCHEMA}.{name} WHERE {CHANGED.format(number % 9)}"
        )
        changed = spark.createDataFrame(
            [tuple(row) for row in rows],
            "id INT, a INT, b STRING, c DECIMAL(10,2), d TIMESTAMP_NTZ",
        )
        changed.createOrReplaceTempView("changed")
        spark.sql(
            f"MERGE INTO delta.`{plain}/{name}` t USING changed s ON t.id = s.id"
            " WHEN MATCHED THEN UPDATE SET t.a = s.a, t.b = s.b, t.c = s.c, t.d = s.d"
            " WHEN NOT MATCHED THEN INSERT (id, a, b, c, d) VALUES (s.id, s.a, s.b, s.c, s.d)"
        )
    return time.monotonic() - began


if __name__ == "__main__":
    sys.exit(main())
