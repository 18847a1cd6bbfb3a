"""A run that dies between any two commits, and is run again, loses nothing and doubles nothing."""

from __future__ import annotations

import itertools
from pathlib import Path

import pytest
from pyspark.sql import SparkSession

from tests.e2e.conftest import Run
from tests.support import traffic
from tests.support.compare import assert_gold_equals_source
from tests.support.kills import Executioner, Killed, at_commits
from tests.support.mysql import MySQLFactory

TABLES = ("account",)
"""One: every commit more is a run more, and what is done to several at once is killed in
tests/integration/test_gold_repeated.py."""


@pytest.mark.long
def test_a_run_killed_at_each_commit_in_turn_ends_as_if_it_had_not_been(
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
            # More input than the dead run saw.
            traffic.run(connection, 5, seed=100 + commits, create=False)
    assert commits > 10
    run(server.binlog_folder, lake, include=include)
    for table in TABLES:
        assert_gold_equals_source(spark, server, str(lake), traffic.SCHEMA, table)
