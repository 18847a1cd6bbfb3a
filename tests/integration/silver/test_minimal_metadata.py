"""binlog_row_metadata=MINIMAL, MySQL's default, and NO_LOG, MariaDB's: gold is as under FULL.

One server logs the same histories under both settings, in one log. For one half, names, signedness,
labels, charsets and keys come from DDL, and for tables that precede the log from the server's own
mysqldump.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

import pytest
from pyspark.sql import SparkSession

from pipeline.gold import job as gold
from pipeline.observe import LayerReport
from pipeline.observe.progress import QuietProgress
from pipeline.run import read_status
from pipeline.run.status import TableStatus
from pipeline.settings import Settings
from pipeline.silver import job as silver
from tests.support.gold.compare import assert_gold_equals_source
from tests.support.lake.run_layers import run_layers
from tests.support.servers.mariadb import MariaDBServer
from tests.support.servers.mysql import MySQLServer
from tests.support.servers.server import Server

ZOO = (
    "id INT UNSIGNED PRIMARY KEY, a VARCHAR(10), b VARCHAR(10), u TINYINT UNSIGNED,"
    " big BIGINT UNSIGNED, d DECIMAL(12,3), l VARCHAR(20) CHARACTER SET latin1, t TEXT, c CHAR(5),"
    " bin BINARY(4), vb VARBINARY(9), bl BLOB, e ENUM('x','y z','ü'), st SET('a','b','c'),"
    " bi BIT(9), dt DATETIME(3), ts TIMESTAMP(6) NULL, ti TIME(2), da DATE, y YEAR, f FLOAT,"
    " db DOUBLE"
)
VALUES = (
    "'eins', 'zwei', 255, 18446744073709551615, -123456789.125, 'größe', 'ünïcode', 'ch', x'01',"
    " x'ff00', x'c3', 'ü', 'a,c', b'100000001', '2024-02-29 12:34:56.789',"
    " '2024-01-01 00:00:00.000001', '-12:00:00.5', '1999-12-31', 2155, 1.5, -2.25"
)
DOCUMENTS = (
    "CREATE TABLE docs (id INT PRIMARY KEY, j JSON, g POINT, hidden INT INVISIBLE DEFAULT 4)"
)

FIRST = (
    f"CREATE TABLE zoo ({ZOO}) DEFAULT CHARSET=utf8mb4",
    f"INSERT INTO zoo VALUES (1, {VALUES}), (4000000000, {VALUES})",
    "ALTER TABLE zoo CHANGE a b VARCHAR(10), CHANGE b a VARCHAR(10)",
    "UPDATE zoo SET a = 'swapped', u = 200 WHERE id = 1",
    f"INSERT INTO zoo VALUES (2, {VALUES})",
    "CREATE TABLE keyed (x INT NOT NULL, y INT NOT NULL, v VARCHAR(9), UNIQUE KEY u (x))",
    "INSERT INTO keyed VALUES (1, 1, 'a'), (2, 1, 'b'), (3, 3, 'c')",
    "UPDATE keyed SET v = 'B', x = 20 WHERE x = 2",
    "CREATE TABLE keyless (v INT UNSIGNED, w VARCHAR(9))",
    "INSERT INTO keyless VALUES (1, 'a'), (1, 'a'), (4294967295, 'z')",
    "CREATE TABLE one LIKE keyless",
    "INSERT INTO one VALUES (7, 'one')",
    "SET sql_generate_invisible_primary_key = ON",
    "CREATE TABLE numbered (v INT)",
    "INSERT INTO numbered VALUES (5), (6)",
    "UPDATE numbered SET v = 7 WHERE v = 5",
)
SECOND = (
    "ALTER TABLE zoo CHANGE a b VARCHAR(10), CHANGE b a VARCHAR(10)",
    "UPDATE zoo SET b = 'back' WHERE id = 2",
    (
        "ALTER TABLE zoo MODIFY e ENUM('x','y z','ü','new') FIRST, DROP c,"
        " ADD n SMALLINT UNSIGNED DEFAULT 7"
    ),
    "UPDATE zoo SET e = 'new', n = 65535 WHERE id = 4000000000",
    "ALTER TABLE zoo MODIFY l VARCHAR(30), ADD m VARCHAR(5) CHARACTER SET latin1 AFTER id",
    "UPDATE zoo SET m = 'ß', l = 'länger' WHERE id = 1",
    "DELETE FROM zoo WHERE id = 2",
    "ALTER TABLE keyed DROP INDEX u, ADD PRIMARY KEY (y, x)",
    "UPDATE keyed SET v = 'again' WHERE y = 1 AND x = 1",
    "ALTER TABLE keyed RENAME COLUMN y TO z",
    "INSERT INTO keyed VALUES (4, 4, 'd')",
    "DELETE FROM keyless WHERE v = 1 LIMIT 1",
    "RENAME TABLE keyless TO two, one TO keyless, two TO one",
    "INSERT INTO keyless VALUES (8, 'keyless')",
    "INSERT INTO one VALUES (9, 'one')",
)
TABLES = ("zoo", "keyed", "keyless", "one", "numbered")
OLD = (
    f"CREATE TABLE old ({ZOO})",
    f"INSERT INTO old VALUES (1, {VALUES})",
    "CREATE TABLE emptied (id INT PRIMARY KEY, a VARCHAR(9), b VARCHAR(9))",
    "INSERT INTO emptied VALUES (1, 'a', 'b')",
    "CREATE TABLE lost (id INT PRIMARY KEY, e ENUM('p', 'q'))",
    "INSERT INTO lost VALUES (1, 'p')",
)
CHANGES_OF_OLD = (
    "ALTER TABLE old RENAME COLUMN a TO b, RENAME COLUMN b TO a",
    "DELETE FROM old",
    f"INSERT INTO old VALUES (5, {VALUES})",
    "UPDATE old SET a = 'dumped b' WHERE id = 5",
    "TRUNCATE emptied",
    "INSERT INTO emptied VALUES (2, 'c', 'd')",
    "DELETE FROM lost",
    "INSERT INTO lost VALUES (2, 'q')",
)


class Source:
    """A server whose log goes into its own lake."""

    def __init__(self, spark: SparkSession, server: Server, folder: Path) -> None:
        self.spark = spark
        self.server = server
        self.folder = folder
        self.conf: dict[str, object] = {}

    def begin(self, *schemas: str) -> None:
        for schema in schemas:
            self.server.execute(f"DROP DATABASE IF EXISTS {schema}; CREATE DATABASE {schema}")

    def execute(self, schema: str, *statements: str, metadata: str = "FULL") -> None:
        self.server.execute(f"SET GLOBAL binlog_row_metadata = {metadata}")
        with self.server.connect(database=schema) as connection, connection.cursor() as cursor:
            for statement in statements:
                cursor.execute(statement)

    def settings(self) -> Settings:
        binlogs, lake = str(self.server.binlog_folder), str(self.folder / "lake")
        return Settings.load(None, source="names", binlogs=binlogs, lake=lake, **self.conf)

    def run(self) -> list[LayerReport]:
        return run_layers(self.spark, self.settings(), QuietProgress())

    def require_equal(self, schema: str, *tables: str) -> None:
        lake = self.settings().lake
        for table in tables:
            assert assert_gold_equals_source(self.spark, self.server, lake, schema, table)

    def status(self) -> dict[str, TableStatus]:
        found = read_status(self.spark, self.settings())
        tables = json.loads(found.to_json())["tables"]
        assert [table["named"] for table in tables] == [table.named for table in found.tables]
        return {f"{table.schema}.{table.table}": table for table in found.tables}


@pytest.fixture
def source(spark: SparkSession, mysql: MySQLServer, tmp_path: Path) -> Iterator[Source]:
    yield Source(spark, mysql, tmp_path)
    mysql.execute("SET GLOBAL binlog_row_metadata = FULL")


def dumped(server: Server, program: str, schema: str, *tables: str) -> str:
    """Return the server's own dump of tables, without rows."""
    options = (f"--socket={server.socket}", "--user=root", "--no-data", "--skip-dump-date")
    return server.tool(program, *options, schema, *tables).decode()


@pytest.mark.long
def test_gold_is_the_same_as_under_full_metadata(source: Source, spark: SparkSession) -> None:
    source.begin("names_old", "names_full", "names_minimal")
    source.execute("names_old", *OLD)
    dump = source.folder / "start.sql"
    dump.write_text(dumped(source.server, "mysqldump", "names_old", "old", "emptied"))
    source.conf = {"definitions": str(dump)}
    source.server.reset_logs()
    source.execute("names_full", *FIRST, DOCUMENTS)
    source.execute("names_minimal", *FIRST, DOCUMENTS, metadata="MINIMAL")
    source.execute("names_old", *CHANGES_OF_OLD, metadata="MINIMAL")
    # metadata that changes in the middle of a table's history
    document = "INSERT INTO docs VALUES ({0}, '{{\"n\": {0}}}', ST_GeomFromText('POINT({0} 2)'))"
    source.execute("names_full", document.format(1), metadata="MINIMAL")
    source.execute("names_full", document.format(2), "UPDATE docs SET hidden = 5 WHERE id = 1")
    source.execute("names_minimal", document.format(1), metadata="MINIMAL")
    (held,) = source.run()[-1].faults
    assert "names_old.lost" in held
    assert "definitions" in held
    for schema in ("names_full", "names_minimal"):
        source.require_equal(schema, *TABLES, "docs")
    source.require_equal("names_old", "old", "emptied")
    status = source.status()
    assert [name for name, table in status.items() if not table.named] == ["names_old.lost"]
    assert status["names_old.lost"].held
    complete = {name: status[f"names_old.{name}"].complete for name in ("old", "emptied")}
    assert complete == {"old": False, "emptied": True}, "a definition is not rows"

    source.execute("names_full", *SECOND)
    source.execute("names_minimal", *SECOND, metadata="MINIMAL")
    late = ("ALTER TABLE lost RENAME COLUMN e TO f", "INSERT INTO lost VALUES (3, 'p')")
    source.execute("names_old", *late, metadata="MINIMAL")
    source.run()
    for schema in ("names_full", "names_minimal"):
        source.require_equal(schema, *TABLES)

    # names that become known late
    definitions = source.folder / "late.yml"
    definitions.write_text(f"names_old.lost: {OLD[-2]}")
    source.conf = {"definitions": str(definitions)}
    for layer in (silver, gold):
        layer.retry(spark, source.settings(), QuietProgress())
    source.require_equal("names_old", "lost")
    assert (source.status()["names_old.lost"].held, source.run()[-1].faults) == (False, ())
    assert all(table.named and not table.faults for table in source.status().values())


CONTRADICTED = (
    "CREATE TABLE altered (id INT PRIMARY KEY, v INT)",
    "CREATE TABLE beside (id INT PRIMARY KEY, v INT)",
    "INSERT INTO altered VALUES (1, 1)",
    "SET sql_log_bin = 0",
    "ALTER TABLE altered ADD w VARCHAR(9)",
    "SET sql_log_bin = 1",
    "INSERT INTO altered VALUES (2, 2, 'w')",
    "INSERT INTO dumped VALUES (3, 3)",
    "INSERT INTO beside VALUES (4, 4)",
)


def test_rows_that_contradict_their_definition_are_a_fault_of_only_their_table(
    source: Source,
) -> None:
    """An ALTER that is not in the log, and a dump that predates an unlogged ALTER."""
    source.begin("names_other")
    source.execute("names_other", "CREATE TABLE dumped (id INT PRIMARY KEY, v INT, w VARCHAR(9))")
    dump = source.folder / "start.sql"
    dump.write_text(dumped(source.server, "mysqldump", "names_other", "dumped"))
    source.conf = {"definitions": str(dump)}
    source.execute("names_other", "ALTER TABLE dumped DROP w")
    source.server.reset_logs()
    source.execute("names_other", *CONTRADICTED, metadata="MINIMAL")
    faults = "\n".join(source.run()[-1].faults)
    status = source.status()
    assert {name for name, table in status.items() if table.held} == {
        "names_other.altered",
        "names_other.dumped",
    }
    for name in ("altered", "dumped"):
        assert f"names_other.{name}" in faults
        assert "binlog.000001" in (status[f"names_other.{name}"].reason or "")
    source.require_equal("names_other", "beside")


MARIADB = (
    f"CREATE TABLE zoo ({ZOO})",
    f"INSERT INTO zoo VALUES (1, {VALUES})",
    "ALTER TABLE zoo RENAME COLUMN a TO x, ADD y2 YEAR",
    "ALTER TABLE zoo RENAME COLUMN b TO a",
    "ALTER TABLE zoo RENAME COLUMN x TO b, ADD x TEXT",
    "UPDATE zoo SET a = 'größer', x = 'é', u = 129, big = 9223372036854775809",
    "CREATE TABLE late (id INT PRIMARY KEY, v VARCHAR(9), w LONGTEXT, j JSON) CHARSET=utf8mb4",
    "INSERT INTO late VALUES (1, '€', '€€', '{\"a\": [1, 2.5]}')",
    "ALTER TABLE late CONVERT TO CHARACTER SET utf8mb3, ADD z CHAR(3) DEFAULT 'ü'",
    "UPDATE late SET v = 'ä', z = 'öö'",
)


def test_gold_equals_a_mariadb_without_metadata(
    spark: SparkSession, mariadb: MariaDBServer, tmp_path: Path
) -> None:
    """Signedness, charsets, and which BLOBs are text come from DDL too; the schema's charset is
    latin1.
    """
    source = Source(spark, mariadb, tmp_path)
    try:
        source.begin("names_before")
        source.execute("names_before", "CREATE TABLE t (id INT UNSIGNED PRIMARY KEY, v TEXT)")
        dump = tmp_path / "start.sql"
        dump.write_text(dumped(mariadb, "mariadb-dump", "names_before", "t"))
        mariadb.reset_logs()
        source.begin("names_mariadb")
        source.conf = {"definitions": str(dump)}
        source.execute("names_mariadb", *MARIADB, metadata="NO_LOG")
        source.execute("names_before", "INSERT INTO t VALUES (4000000000, 'ö')", metadata="NO_LOG")
        assert [report.faults for report in source.run()] == [(), (), ()]
        source.require_equal("names_mariadb", "zoo", "late")
        source.require_equal("names_before", "t")
        assert all(table.named for table in source.status().values())
    finally:
        mariadb.execute("SET GLOBAL binlog_row_metadata = FULL")
