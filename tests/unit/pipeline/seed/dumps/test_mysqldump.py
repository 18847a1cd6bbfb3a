"""Dumps of mysqldump and mariadb-dump, intact and damaged."""

from __future__ import annotations

import gzip
import random
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path

import pytest

from pipeline.errors import BinlakeError
from pipeline.seed.dumps import Dump, DumpedTable, mysqldump, open_dump
from pipeline.seed.dumps.model import created
from pipeline.seed.errors import DumpError
from tests.support.seed.seed_rows import all_columns, held_columns as columns, rows_of as rows

HEAD = """\
-- MySQL dump 10.13  Distrib 9.7.4, for Linux (x86_64)
-- Host: localhost    Database: shop
-- Server version\t9.7.4
/*!50503 SET NAMES utf8mb4 */;
/*!40103 SET TIME_ZONE='+00:00' */;
/*!40101 SET @OLD_SQL_MODE=@@SQL_MODE, SQL_MODE='NO_AUTO_VALUE_ON_ZERO' */;
SET @@GLOBAL.GTID_PURGED=/*!80000 '+'*/ 'aaaa:1-10,
bbbb:1-3';
-- CHANGE REPLICATION SOURCE TO SOURCE_LOG_FILE='binlog.000007', SOURCE_LOG_POS=4397;
"""
TABLE = """\
DROP TABLE IF EXISTS `t`;
CREATE TABLE `t` (
  `id` int NOT NULL, `x;y` varchar(9), `z` int GENERATED ALWAYS AS (`id` + 1),
  `at` timestamp NULL, PRIMARY KEY (`id`)
);
"""
INSERT = "INSERT INTO `t` (`id`, `x;y`, `at`) VALUES (1,'a;\\'b',NULL),(2,NULL,NULL);\n"


@pytest.fixture
def dump(tmp_path: Path) -> Callable[[str], Dump]:
    def opened(text: str) -> Dump:
        path = tmp_path / "dump.sql"
        path.write_text(text)
        return open_dump(str(path))

    return opened


OpenDump = Callable[[str], Dump]


def test_a_dump(dump: OpenDump) -> None:
    found = dump(HEAD + TABLE + INSERT + INSERT.replace("1,", "3,").replace("2,", "4,"))
    assert found.place == ("binlog.000007", 4397)
    assert found.gtids == "aaaa:1-10,bbbb:1-3"
    assert found.server == "9.7.4"
    (table,) = found.tables
    assert str(table) == "shop.t"
    assert table.columns == ("id", "x;y", "at")
    assert [row[:2] for row in rows(table)] == [
        [b"1", b"a;'b"], [b"2", None], [b"3", b"a;'b"], [b"4", None],
    ]  # fmt: skip


def test_generated_columns_missing_from_the_dump_are_reported(dump: OpenDump) -> None:
    (table,) = dump(HEAD + TABLE + INSERT).tables
    assert table.lacks(all_columns(table)) == ("z",)
    with pytest.raises(DumpError, match="lacks the columns z"):
        table.require_readable(all_columns(table))
    with pytest.raises(DumpError, match="lacks the columns z"):
        next(table.chunks[0].cells(all_columns(table)))


def test_chunks_end_between_inserts(dump: OpenDump, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(mysqldump, "CHUNK", 3 * len(INSERT))
    text = HEAD + TABLE + INSERT * 10
    (table,) = dump(text).tables
    assert [chunk.size for chunk in table.chunks] == [3 * len(INSERT) - 1] * 3 + [len(INSERT) - 1]
    assert len({chunk.name for chunk in table.chunks}) == 4
    assert len(rows(table)) == 20
    assert [chunk.name for chunk in dump(text).tables[0].chunks] == [
        chunk.name for chunk in table.chunks
    ]


def test_a_compressed_table_is_one_chunk(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(mysqldump, "CHUNK", 1)
    path = tmp_path / "dump"
    path.write_bytes(gzip.compress((HEAD + TABLE + INSERT * 10).encode()))
    (table,) = open_dump(str(path)).tables
    assert len(table.chunks) == 1
    assert len(rows(table)) == 20


def test_rows_of_several_tables_and_schemas(dump: OpenDump) -> None:
    text = HEAD + "".join(
        f"USE `{schema}`;\nCREATE TABLE `{table}` (a INT);\nINSERT INTO `{table}` VALUES ({n});\n"
        for n, (schema, table) in enumerate(
            [("a", "t"), ("a", "u"), ("b`c".replace("`", "``"), "t")]
        )
    )
    found = {str(table): rows(table) for table in dump(text).tables}
    assert found == {"a.t": [[b"0"]], "a.u": [[b"1"]], "b`c.t": [[b"2"]]}


def test_inserts_inside_triggers_are_not_rows(dump: OpenDump) -> None:
    trigger = (
        "DELIMITER ;;\nCREATE TRIGGER r BEFORE INSERT ON t FOR EACH ROW BEGIN\n"
        "INSERT INTO `t` (`id`) VALUES (7);\nEND ;;\nDELIMITER ;\n"
    )
    (table,) = dump(HEAD + TABLE + trigger + INSERT).tables
    assert len(rows(table)) == 2


def test_placeholder_tables_of_views_are_skipped(dump: OpenDump) -> None:
    view = "CREATE TABLE `v` (a INT);\nDROP TABLE IF EXISTS `v`;\nCREATE VIEW `v` AS SELECT 1;\n"
    assert [table.table for table in dump(HEAD + TABLE + view).tables] == ["t"]


def test_no_backslash_escapes(dump: OpenDump) -> None:
    head = HEAD.replace("NO_AUTO_VALUE_ON_ZERO", "ANSI_QUOTES,NO_BACKSLASH_ESCAPES")
    create, insert = (
        'CREATE TABLE "t" (a TEXT);\n',
        "INSERT INTO \"t\" VALUES ('\\'),('''\\n\n');\n",
    )
    (table,) = dump(head + create + insert).tables
    assert rows(table) == [[b"\\"], [b"'\\n\n"]]


def test_rows_longer_than_a_window(dump: OpenDump) -> None:
    long = "x" * 9_000_000
    insert = f"INSERT INTO `t` VALUES ('{long}'),('y'),('{long}');\n"
    (table,) = dump(HEAD + "CREATE TABLE `t` (a LONGTEXT);\n" + insert).tables
    assert [len(value) for (value,) in rows(table)] == [len(long), 1, len(long)]


WRONG: list[tuple[str, str, str]] = [
    ("time zone", HEAD.replace("SET TIME_ZONE", "SET TIME_OF") + TABLE + INSERT, "skip-tz-utc"),
    ("charset", HEAD.replace("NAMES utf8mb4", "NAMES latin1") + TABLE + INSERT, "latin1"),
    ("cut", (HEAD + TABLE + INSERT)[:-12], "ends within an INSERT"),
    ("values", HEAD + TABLE + INSERT.replace(",NULL)", ")"), "row of 3 values was exp"),
    ("functions", HEAD + TABLE + INSERT.replace(",NULL)", ",NOW())"), "row of 3 values was exp"),
]


@pytest.mark.parametrize(
    ("text", "reason"), [pytest.param(*rest, id=name) for name, *rest in WRONG]
)
def test_a_damaged_or_unsupported_dump_is_an_error(dump: OpenDump, text: str, reason: str) -> None:
    def read_all() -> None:
        (table,) = dump(text).tables
        table.require_readable(columns(table))
        rows(table)

    with pytest.raises(DumpError, match=reason) as caught:
        read_all()
    assert caught.value.table == "shop.t"
    assert caught.value.remedy


def test_a_file_that_is_not_a_dump_is_an_error(tmp_path: Path) -> None:
    path = tmp_path / "file"
    for content, reason in ((b"SELECT 1;\n", "no CREATE TABLE"), (b"\xfebin\0\0", "binary file")):
        path.write_bytes(content)
        with pytest.raises(DumpError, match=reason):
            open_dump(str(path))


def test_a_truncated_archive_is_an_error(tmp_path: Path) -> None:
    path = tmp_path / "dump.sql.gz"
    path.write_bytes(gzip.compress((HEAD + TABLE + INSERT).encode())[:-30])
    with pytest.raises(DumpError, match="is truncated"):
        open_dump(str(path))


def test_randomly_damaged_dumps_raise_only_our_errors(tmp_path: Path) -> None:
    whole = (HEAD + TABLE + INSERT * 3).encode()
    chance = random.Random(11)
    path = tmp_path / "dump.sql"
    for _ in range(400):
        damaged = bytearray(whole)
        for _ in range(chance.randint(1, 4)):
            at = chance.randrange(len(damaged))
            damaged[at : at + chance.randint(0, 5)] = chance.choices(DAMAGE, k=chance.randint(0, 3))
        path.write_bytes(damaged[: chance.choice((len(damaged), chance.randrange(len(damaged))))])
        with suppress(BinlakeError):
            for table in open_dump(str(path)).tables:
                read_rows(table)


DAMAGE = b"'`\"();,\\\n-#/*!\xff\0 "


def read_rows(table: DumpedTable) -> None:
    if created(table.statement, table.schema, table.sql_mode):
        rows(table)
