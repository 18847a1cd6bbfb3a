"""Measure the cost per table of a run that changes many tables, from files to gold.

A first run replicates tables that a real server has created and filled; then a few rows of each
table are changed, and a second run is timed. Gold is compared with the server's row counts.
"""

from __future__ import annotations

import tempfile
from pathlib import Path

from pyspark.sql import SparkSession
from rich.console import Console

from pipeline.lake import delta
from pipeline.observe import LayerReport
from pipeline.observe.progress import QuietProgress
from pipeline.settings import Settings
from tests.support.lake.run_layers import run_layers
from tests.support.servers.mysql import MySQLServer

SCHEMA = "many"
ROWS = 1000
COLUMNS = "id INT PRIMARY KEY, a INT, b VARCHAR(40), c DECIMAL(10,2), d DATETIME"
CHANGES = (
    "UPDATE {0} SET a = a + 1, b = 'changed' WHERE id % 50 = 0",
    "DELETE FROM {0} WHERE id % 200 = 1",
    "INSERT INTO {0} VALUES (5001, 1, 'new', 1, NOW()), (5002, 2, 'new', 2, NOW())",
)


def jobs(spark: SparkSession) -> int:
    """Return the number of Spark jobs run so far."""
    return int(spark.sparkContext._jsc.sc().dagScheduler().numTotalJobs())


def many_tables(spark: SparkSession, count: int, screen: Console) -> None:
    """Print the cost of both runs by layer and table. Raises RuntimeError on a wrong row count."""
    names = [f"t{n:03}" for n in range(count)]
    with tempfile.TemporaryDirectory() as folder, MySQLServer(Path(folder) / "server") as server:
        _fill(server, names)
        settings = Settings(
            source="bench",
            binlogs=str(server.binlog_folder),
            lake=f"{folder}/lake",
            include=(f"{SCHEMA}.*",),
        )
        first = run_layers(spark, settings, QuietProgress())
        _show(screen, f"{count} tables created, of {ROWS:,} rows each", first, count, 0)
        for name in names:
            server.execute(";".join(change.format(f"{SCHEMA}.{name}") for change in CHANGES))
        server.flush_logs()
        before = jobs(spark)
        second = run_layers(spark, settings, QuietProgress())
        _show(screen, f"{count} tables changed", second, count, jobs(spark) - before)
        for name in names:
            rows = delta.read(spark, settings.layout.gold(SCHEMA, name)).count()
            expected = server.execute(f"SELECT COUNT(*) FROM {SCHEMA}.{name}")[0][0]
            if rows != expected:
                raise RuntimeError(f"{name} has {rows} rows in gold, {expected} on the server")


def _fill(server: MySQLServer, names: list[str]) -> None:
    server.execute(f"CREATE DATABASE {SCHEMA}")
    with server.connect(database=SCHEMA) as connection, connection.cursor() as cursor:
        cursor.execute("SET cte_max_recursion_depth = 100000")
        for name in names:
            cursor.execute(f"CREATE TABLE {name} ({COLUMNS})")
            cursor.execute(
                f"INSERT INTO {name} WITH RECURSIVE n (i) AS"
                f" (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < {ROWS})"
                " SELECT i, i, CONCAT('row ', i), i / 4, NOW() FROM n"
            )
    server.flush_logs()


def _show(
    screen: Console, title: str, reports: list[LayerReport], count: int, jobs_run: int
) -> None:
    seconds = sum(report.seconds for report in reports)
    layers = ", ".join(f"{r.layer} {r.seconds / count:.2f}" for r in reports)
    jobs_text = f"; {jobs_run / count:.1f} Spark jobs per table" if jobs_run else ""
    per_table = f"{seconds / count:.2f} s per table"
    screen.print(f"{title}: {seconds:.0f} s, {per_table} ({layers}){jobs_text}")
    for report in reports:
        for line in (*report.faults, *report.gaps, *report.notes):
            screen.print(f"  {report.layer}: {line}")
