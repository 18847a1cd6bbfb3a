"""Every kind of schema change on real servers, in one run or a run per file: gold equals SELECT.

Tables that gold cannot follow are listed with the reason it has to report; all others are equal.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from fnmatch import fnmatchcase
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from pipeline.lake import Lake
from tests.e2e.conftest import Run
from tests.support.gold.compare import assert_gold_equals_source
from tests.support.lake.table_rows import assert_spark_reads_it_so
from tests.support.servers.mariadb import MariaDBFactory, NewestMariaDBServer
from tests.support.servers.server import Server
from tests.support.zoo.partition_history import HASHED, PARTITIONED
from tests.support.zoo.schema_changes import (
    ALTERED,
    ALTERED_ON_MYSQL,
    BY_FILE,
    DATABASES,
    FILES,
    FILL,
    GENERATED,
    NAMES,
    NOTHING,
    ODD_SCHEMA,
    OF_MARIADB,
    OF_MYSQL,
    ONLINE,
    RENAMED,
    SCHEMA,
    TABLE,
)

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

    from pipeline.run.status import TableStatus

ROWS_NOT_LOGGED = {
    "truncated": "TRUNCATE PARTITION removes is not in the log.*replace it with a copy",
    "exchanged": "exchanged with evolving.exchanged_with",
    "exchanged_with": "exchanged with a partition of evolving.exchanged",
}
"""With on_fault: mark, gold continues without these rows."""

HELD = {
    "computed": "column g is added.*a generated column",
    "numbered": "AUTO_INCREMENT",
    "black": "BLACKHOLE",
    "black2": "BLACKHOLE",
    "stated": "SELECT in statement format",
}

HELD_ON_MARIADB = {
    "versioned": "SYSTEM VERSIONING",
    "versioned2": "SYSTEM VERSIONING",
    "numbers": "SEQUENCE",
    "repeated": "ALTER IGNORE",
    **{name: HELD[name] for name in ("computed", "numbered")},
}


def histories(altered: Mapping[str, Sequence[str]], *others: Sequence[str]) -> list[list[str]]:
    """Return sequences of statements that are independent of each other."""
    ours = [
        [statement.format(table) for statement in (TABLE, FILL, *statements)]
        for table, statements in altered.items()
    ]
    return [*ours, *map(list, others)]


def play(server: Server, sequences: Sequence[Sequence[str]]) -> Iterator[None]:
    """Run the sequences, each in its own session, and pause whenever a file is full."""
    sessions = [server.connect(database=SCHEMA) for _ in sequences]
    for number in range(FILES):
        for session, statements in zip(sessions, sequences, strict=True):
            first, last = (len(statements) * n // FILES for n in (number, number + 1))
            with session.cursor() as cursor:
                for statement in statements[first:last]:
                    cursor.execute(statement)
        yield
    for session in sessions:
        session.close()


def begin(server: Server) -> None:
    for schema in (SCHEMA, ODD_SCHEMA, "gone"):
        server.execute(f"DROP DATABASE IF EXISTS `{schema.replace('`', '``')}`")
    server.reset_logs()
    server.execute(f"CREATE DATABASE {SCHEMA} CHARACTER SET utf8mb4")


def tables_of(server: Server) -> set[tuple[str, str]]:
    return set(
        server.execute(
            "SELECT TABLE_SCHEMA, TABLE_NAME FROM information_schema.TABLES"
            " WHERE TABLE_TYPE IN ('BASE TABLE', 'SYSTEM VERSIONED', 'SEQUENCE')"
            " AND TABLE_SCHEMA IN (%s, %s, 'gone')",
            (SCHEMA, ODD_SCHEMA),
        )
    )


def check(
    spark: SparkSession,
    server: Server,
    lake: Path,
    held: Mapping[str, str],
    incomplete: Mapping[str, str] | None = None,
    *,
    included: Sequence[str] = ("*",),
) -> None:
    """Check that every table of the source is equal, or held or incomplete for the expected
    reason.
    """
    from pipeline.run import read_status
    from pipeline.settings import Settings

    status = read_status(spark, Settings.load(None, source="e2e", lake=str(lake)))
    found = {(table.schema, table.table): table for table in status.tables}
    there = {n for n in tables_of(server) if any(fnmatchcase(".".join(n), p) for p in included)}
    assert {name for name, table in found.items() if not table.dropped} == there
    problems = []
    for name in sorted(there):
        table = found[name]
        expected = {**held, **(incomplete or {})}.get(name[1])
        if expected is None:
            problems += different(spark, server, lake, table)
        elif table.held != (name[1] in held) or (table.complete and not table.held):
            problems.append(f"{name}: held {table.held}, complete {table.complete}")
        elif re.search(expected, table.reason or "", re.DOTALL) is None:
            problems.append(f"{name}: {table.reason}")
    assert not problems, "\n".join(problems)


def different(spark: SparkSession, server: Server, lake: Path, table: TableStatus) -> list[str]:
    if table.held or not table.complete:
        return [f"{table.schema}.{table.table}: held or incomplete: {table.reason}"]
    try:
        assert_gold_equals_source(spark, server, str(lake), table.schema, table.table)
    except AssertionError as error:
        return [str(error)]
    return []


def of_mysql() -> list[list[str]]:
    """Return the statements in each file of a MySQL server's log."""
    return histories(
        {**ALTERED, **ALTERED_ON_MYSQL},
        *(RENAMED, ONLINE, PARTITIONED, HASHED, GENERATED, NAMES, DATABASES, OF_MYSQL, NOTHING),
    )


@pytest.mark.long
def test_schema_changes_of_mysql_in_a_run_per_file(
    spark: SparkSession, mysql: Server, tmp_path: Path, run: Run
) -> None:
    begin(mysql)
    included = [f"{SCHEMA}.{pattern}" for pattern in BY_FILE]
    for _ in play(mysql, of_mysql()):
        mysql.flush_logs()
        run(mysql.binlog_folder, tmp_path, on_fault="mark", include=included)
    check(spark, mysql, tmp_path, {}, ROWS_NOT_LOGGED, included=included)


def test_schema_changes_of_mysql_in_one_run(
    spark: SparkSession, mysql: Server, tmp_path: Path, run: Run
) -> None:
    begin(mysql)
    for _ in play(mysql, of_mysql()):
        mysql.flush_logs()
    run(mysql.binlog_folder, tmp_path)
    check(spark, mysql, tmp_path, {**HELD, **ROWS_NOT_LOGGED})
    for table in ALTERED:
        if table not in HELD:
            assert_spark_reads_it_so(spark, Lake(str(tmp_path)).gold(SCHEMA, table))


@pytest.mark.long
def test_schema_changes_of_mariadb_with_lower_case_names(
    spark: SparkSession, mariadb_factory: MariaDBFactory, tmp_path: Path, run: Run
) -> None:
    server = mariadb_factory("--lower-case-table-names=1")
    begin(server)
    mine = {table.capitalize(): statements for table, statements in ALTERED.items()}
    others = (RENAMED, ONLINE, PARTITIONED, HASHED, DATABASES, OF_MARIADB, NOTHING)
    list(play(server, histories(mine, *others)))
    run(server.binlog_folder, tmp_path / "lake", lower_case_table_names=1)
    check(spark, server, tmp_path / "lake", {**HELD_ON_MARIADB, **ROWS_NOT_LOGGED})


@pytest.fixture(scope="module")
def newest_in_lower_case(
    newest_mariadb: Server, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Server]:
    """Return a second server of the newest release, if that is available."""
    del newest_mariadb
    folder = tmp_path_factory.mktemp("newest_in_lower_case") / "server"
    with NewestMariaDBServer(folder, "--lower-case-table-names=1") as server:
        yield server


@pytest.mark.long
@pytest.mark.parametrize("metadata", ["NO_LOG", "MINIMAL", "FULL"])
def test_schema_changes_of_the_newest_mariadb(
    spark: SparkSession, newest_in_lower_case: Server, tmp_path: Path, run: Run, metadata: str
) -> None:
    server = newest_in_lower_case
    server.execute(f"SET GLOBAL binlog_row_metadata = {metadata}")
    begin(server)
    others = (RENAMED, ONLINE, PARTITIONED, HASHED, DATABASES, OF_MARIADB, NOTHING)
    list(play(server, histories(ALTERED, *others)))
    run(server.binlog_folder, tmp_path / "lake", lower_case_table_names=1)
    check(spark, server, tmp_path / "lake", {**HELD_ON_MARIADB, **ROWS_NOT_LOGGED})
