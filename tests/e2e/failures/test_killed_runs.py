"""A run that dies between any two commits and is repeated neither loses nor repeats anything."""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from pathlib import Path

import pytest
from pyspark.sql import SparkSession

from pipeline.lake import Lake
from pipeline.observe.progress import QuietProgress
from pipeline.settings import Settings
from tests.e2e.conftest import Run
from tests.support.gold.compare import assert_gold_equals_source
from tests.support.lake.kills import AfterEachCommit, Executioner, Killed, Killer, at_commits
from tests.support.lake.run_layers import run_layers
from tests.support.lake.table_rows import read_table
from tests.support.servers import traffic
from tests.support.servers.mysql import MySQLFactory, MySQLServer

TABLES = ("account",)
"""Only one: each commit costs a run, and tests/integration/gold/test_gold_repeated.py kills
commits that concern several tables.
"""


def test_runs_killed_at_each_commit_yield_the_same_gold(
    spark: SparkSession,
    mysql_factory: MySQLFactory,
    run: Run,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    server = mysql_factory("--max-binlog-size=65536")
    lake = tmp_path / "lake"
    include = [f"{traffic.SCHEMA}.{table}" for table in TABLES]
    with server.connect() as connection:
        traffic.run(connection, 40, seed=1)
        for commits in itertools.count():
            with monkeypatch.context() as patched:
                at_commits(patched, Executioner(commits, after=commits % 2 == 1))
                try:
                    run(server.binlog_folder, lake, include=include)
                except Killed:
                    killed = True
                else:
                    killed = False
            if not killed:
                break
            # More input than the killed run had.
            traffic.run(connection, 5, seed=100 + commits, create=False)
    assert commits > 10
    run(server.binlog_folder, lake, include=include)
    for table in TABLES:
        assert_gold_equals_source(spark, server, str(lake), traffic.SCHEMA, table)


TO_SILVER = ("bronze", "silver")
LEDGER_AND_BRONZE = {"ledger/batches", "ledger/definitions", "bronze/segments", "bronze/files"}
OF_ALL = {"silver/transactions", "silver/statements"}
CHANGES = {f"silver/changes/shop/{table}" for table in ("steady", "evolving", "mapped")}
"""`mapped` has a column that only Spark can commit: its files come from scratch space."""


def make(server: MySQLServer) -> None:
    server.execute(
        "CREATE DATABASE shop;"
        "CREATE TABLE shop.steady (id INT PRIMARY KEY AUTO_INCREMENT, note VARCHAR(20));"
        "CREATE TABLE shop.evolving (id INT PRIMARY KEY AUTO_INCREMENT);"
        "CREATE TABLE shop.mapped (id INT PRIMARY KEY AUTO_INCREMENT, `as note` VARCHAR(20))"
    )


def log_more(server: MySQLServer, number: int) -> None:
    """Change every table of the lake, so that a resumed run also has a batch of its own; `mapped`
    only once runs die after bronze, since each of its commits is Spark's.
    """
    mapped = f"INSERT INTO shop.mapped (`as note`) VALUES ('{number}');" if number > 4 else ""
    server.execute(
        f"ALTER TABLE shop.evolving ADD COLUMN c{number} INT DEFAULT {number};"
        f"INSERT INTO shop.steady (note) VALUES ('{number}'), ('again');"
        f"INSERT INTO shop.evolving (c{number}) VALUES (-1);"
        f"{mapped}"
        "UPDATE shop.steady SET note = CONCAT(note, '!') WHERE note = 'again';"
        "FLUSH BINARY LOGS"
    )


def tables_in(lake: Path) -> Iterator[str]:
    """Return bronze's and silver's tables, and the definitions."""
    for log in sorted(lake.rglob("_delta_log")):
        name = str(log.parent.relative_to(lake))
        if name.startswith(("bronze/", "silver/")) or name == "ledger/definitions":
            yield name


def rows(lake: Path, table: str) -> list[str]:
    """Return all rows of a table, without batch and definition numbers."""
    _, found = read_table(str(lake / table))
    kept = [name for name in found.column_names if name not in ("batch", "number")]
    return sorted(map(str, found.select(kept).to_pylist()))


def ingested(lake: Path) -> dict[str, bytes]:
    """Return the bytes of each file in bronze; no byte may be there twice."""
    order = [(name, "ascending") for name in ("file", "start_pos", "part")]
    found: dict[str, bytes] = {}
    for row in read_table(Lake(str(lake)).segments)[1].sort_by(order).to_pylist():
        found[row["file"]] = found.get(row["file"], b"") + row["content"]
    return found


@pytest.mark.parametrize("engine", ["local", pytest.param("spark", marks=pytest.mark.long)])
def test_bronze_and_silver_killed_around_each_commit_have_the_same_rows(
    spark: SparkSession,
    mysql_factory: MySQLFactory,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    engine: str,
) -> None:
    """Before a commit its files are written, so runs are killed before each commit as well as right
    after.

    Gold would hide duplicate rows.
    """
    server = mysql_factory()
    lake = tmp_path / "lake"
    killed_at = set()

    def run(lake: Path) -> None:
        places = {"binlogs": str(server.binlog_folder), "lake": str(lake), "engine": engine}
        settings = Settings.load(
            None, source="e2e", include=["shop.*"], parallel_tables=1, **places
        )
        run_layers(spark, settings, QuietProgress(), TO_SILVER)

    def dies(killer: Killer) -> bool:
        with monkeypatch.context() as patched:
            at_commits(patched, killer)
            try:
                run(lake)
            except Killed:
                return True
        return False

    make(server)
    for commits in itertools.count():
        log_more(server, commits)
        before, after = Executioner(commits, after=False), AfterEachCommit()
        if not dies(before):
            break
        assert dies(after)
        assert after.commits[0] == before.killed_at
        killed_at.add(str(Path(*Path(after.commits[0]).relative_to(lake).parts[:4])))
        run(lake)
    assert killed_at == LEDGER_AND_BRONZE | OF_ALL | CHANGES

    at_once = tmp_path / "at-once"
    run(at_once)
    logs = {file.name: file.read_bytes() for file in server.binlogs()}
    assert ingested(lake).keys() == logs.keys()
    assert ingested(lake) == ingested(at_once)
    tables = [name for name in tables_in(at_once) if not name.startswith("bronze/")]
    assert [name for name in tables_in(lake) if not name.startswith("bronze/")] == tables
    for table in tables:
        assert rows(lake, table) == rows(at_once, table), table
