"""Schema changes on real servers: after each, in one run or in many, gold is what SELECT gives."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

import pytest
from pyspark.sql import SparkSession

from pipeline.progress import QuietProgress
from pipeline.report import LayerReport
from pipeline.run import run_layers
from pipeline.settings import Settings
from tests.support.compare import assert_gold_equals_source
from tests.support.server import Server

SCHEMA = "evolving"
FILL = "INSERT INTO {} VALUES (1, 'a', 10), (2, 'b', NULL), (3, NULL, 30)"
TABLE = "CREATE TABLE {} (id INT PRIMARY KEY, v VARCHAR(20), `n m.o` INT)"

# By table: ALTERs, with rows between them that only the right definition can read.
HISTORIES: dict[str, tuple[str, ...]] = {
    "drops": (
        "ALTER TABLE {} DROP COLUMN v",
        "INSERT INTO {} VALUES (4, 40)",
        "ALTER TABLE {} ADD v BIGINT DEFAULT 7 AFTER id, DROP `n m.o`",
        "UPDATE {} SET v = 8 WHERE id = 2",
    ),
    "renames": (
        "ALTER TABLE {} RENAME COLUMN v TO `w ``x`, RENAME COLUMN `n m.o` TO n",
        "INSERT INTO {} VALUES (4, 'd', 40)",
        "ALTER TABLE {} RENAME COLUMN `w ``x` TO n, RENAME COLUMN n TO v",
        "UPDATE {} SET n = 'swapped', v = 5 WHERE id = 1",
        "ALTER TABLE {} CHANGE v `Größe` INT, CHANGE n N VARCHAR(20)",
        "INSERT INTO {} VALUES (5, 'e', 50)",
    ),
    "moves": (
        "ALTER TABLE {} MODIFY `n m.o` INT FIRST, ADD x DATE DEFAULT '2024-02-29' AFTER id",
        "INSERT INTO {} VALUES (40, 4, '2020-01-01', 'd')",
        "ALTER TABLE {} MODIFY id INT NOT NULL AFTER v",
        "DELETE FROM {} WHERE id = 1",
    ),
    "converts": (
        "ALTER TABLE {} MODIFY id BIGINT, MODIFY v CHAR(10), MODIFY `n m.o` DECIMAL(12,3)",
        "INSERT INTO {} VALUES (5000000000, 'd', 1.125)",
        (
            "ALTER TABLE {} CHANGE `n m.o` v INT, CHANGE v `n m.o` TEXT, DROP PRIMARY KEY,"
            " ADD PRIMARY KEY (id)"
        ),
        "UPDATE {} SET v = 9 WHERE id = 3",
    ),
    "rekeyed": (
        "UPDATE {} SET v = 'c' WHERE id = 3",
        (
            "ALTER TABLE {} DROP PRIMARY KEY, MODIFY v VARCHAR(20) NOT NULL DEFAULT '',"
            " ADD PRIMARY KEY (v, id)"
        ),
        "UPDATE {} SET id = 9 WHERE id = 2",
        "INSERT INTO {} VALUES (1, 'other', 1)",
        "ALTER TABLE {} DROP PRIMARY KEY, ADD UNIQUE KEY u (id, v)",
        "UPDATE {} SET v = 'z' WHERE id = 9",
        "ALTER TABLE {} RENAME COLUMN id TO number, DROP KEY u, ADD PRIMARY KEY (number, v)",
        "DELETE FROM {} WHERE number = 3",
    ),
    "empties": (
        "TRUNCATE TABLE {}",
        "INSERT INTO {} VALUES (1, 'again', 1)",
        "ALTER TABLE {} DROP v",
        "INSERT INTO {} VALUES (2, 2)",
        "TRUNCATE TABLE {}",
        "INSERT INTO {} VALUES (1, 3)",
    ),
    "unread": (
        "CREATE INDEX i ON {} (v)",
        "ALTER TABLE {} ALTER COLUMN v SET DEFAULT 'x', ADD INDEX j (`n m.o`), COMMENT 'c'",
        "ANALYZE TABLE {}",
        "DROP INDEX i ON {}",
        "ALTER TABLE {} ENGINE = InnoDB",
        "ALTER TABLE {} CONVERT TO CHARACTER SET utf8mb4",
        "INSERT INTO {} VALUES (7, 'ü', 7)",
    ),
}
BY_SERVER = {
    "mysql": tuple(HISTORIES),
    # CHANGE for RENAME COLUMN with names that are freed is MySQL's own
    "mariadb": tuple(name for name in HISTORIES if name != "renames"),
}


class Source:
    """A server whose logs go into a lake of their own."""

    def __init__(self, spark: SparkSession, server: Server, lake: Path) -> None:
        self.spark = spark
        self.server = server
        self.lake = str(lake)
        server.execute(f"DROP DATABASE IF EXISTS {SCHEMA}")
        server.reset_logs()
        server.execute(f"CREATE DATABASE {SCHEMA}")

    def execute(self, *statements: str) -> None:
        with self.server.connect(database=SCHEMA) as connection, connection.cursor() as cursor:
            for statement in statements:
                cursor.execute(statement)

    def run(self) -> list[LayerReport]:
        settings = Settings.load(
            None, source="e2e", binlogs=str(self.server.binlog_folder), lake=self.lake
        )
        return run_layers(self.spark, settings, QuietProgress())

    def require_equal(self, tables: Iterable[str]) -> None:
        """Run, and compare every table."""
        reports = self.run()
        assert [(report.faults, report.gaps) for report in reports] == [((), ())] * 3
        for table in tables:
            assert_gold_equals_source(self.spark, self.server, self.lake, SCHEMA, table)


@pytest.fixture(params=["mysql", "mariadb"])
def kind(request: pytest.FixtureRequest) -> str:
    return str(request.param)


@pytest.fixture
def source(
    spark: SparkSession, kind: str, request: pytest.FixtureRequest, tmp_path: Path
) -> Source:
    return Source(spark, request.getfixturevalue(kind), tmp_path / "lake")


RENAMES = (
    "CREATE TABLE a (id INT PRIMARY KEY, x INT)",
    "INSERT INTO a VALUES (1, 10), (2, 20)",
    "CREATE TABLE b (y VARCHAR(9), id BIGINT PRIMARY KEY)",
    "INSERT INTO b VALUES ('b', 1), ('bb', 3)",
    "RENAME TABLE a TO tmp, b TO a, tmp TO b",
    "INSERT INTO a VALUES ('was b', 7)",
    "UPDATE b SET x = 11 WHERE id = 1",
    "ALTER TABLE a ADD z INT DEFAULT 3, RENAME TO `c d`",
    "DELETE FROM `c d` WHERE id = 3",
    "CREATE TABLE a LIKE b",
    "INSERT INTO a VALUES (5, 50)",
    "RENAME TABLE a TO e, `c d` TO a",
    "INSERT INTO a VALUES ('end', 9, 9)",
    "CREATE TABLE ctas (PRIMARY KEY (id)) AS SELECT * FROM a",
    "UPDATE ctas SET z = 0",
    "RENAME TABLE b TO a2, a TO b, a2 TO a",
)
RENAMED = ("a", "b", "e", "ctas")
STEPWISE = ("renames", "converts")


def test_all_at_once(source: Source, kind: str) -> None:
    for table in BY_SERVER[kind]:
        statements = (TABLE, FILL, *HISTORIES[table])
        source.execute(*(statement.format(table) for statement in statements))
    source.execute(*RENAMES)
    source.require_equal((*BY_SERVER[kind], *RENAMED))


@pytest.mark.parametrize("kind", ["mysql"])
def test_one_after_the_other(source: Source, kind: str) -> None:
    source.execute(*(s.format(table) for table in STEPWISE for s in (TABLE, FILL)))
    source.execute(*RENAMES[:4])
    source.require_equal((*STEPWISE, "a", "b"))
    for number in range(max(len(HISTORIES[table]) for table in STEPWISE)):
        left = [table for table in STEPWISE if number < len(HISTORIES[table])]
        source.execute(*(HISTORIES[table][number].format(table) for table in left))
        source.execute(*RENAMES[4 + 2 * number : 6 + 2 * number])
        source.require_equal(left)
    source.execute(*RENAMES[4 + 2 * (number + 1) :])
    source.require_equal(RENAMED)


def test_a_copy_takes_the_place_of_a_table_that_is_held(source: Source) -> None:
    """What to do after a statement whose rows are not in the log."""
    source.execute(
        "CREATE TABLE p (id INT PRIMARY KEY) PARTITION BY RANGE (id)"
        " (PARTITION p0 VALUES LESS THAN (10), PARTITION p1 VALUES LESS THAN MAXVALUE)",
        "INSERT INTO p VALUES (1), (20)",
        "ALTER TABLE p DROP PARTITION p0",
        "INSERT INTO p VALUES (30)",
    )
    gold = source.run()[-1]
    (told,) = gold.faults
    assert "DROP PARTITION" in told
    assert "takes its place" in told
    source.execute(
        "CREATE TABLE copy LIKE p",
        "INSERT INTO copy SELECT * FROM p",
        "RENAME TABLE p TO old, copy TO p",
        "DROP TABLE old",
        "INSERT INTO p VALUES (40)",
    )
    assert source.run()[-1].faults == ()
    assert assert_gold_equals_source(source.spark, source.server, source.lake, SCHEMA, "p") == 3
