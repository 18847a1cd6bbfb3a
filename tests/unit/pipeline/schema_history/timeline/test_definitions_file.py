"""Definitions from conf: schema dumps and YAML."""

from __future__ import annotations

from pathlib import Path

import pytest

from pipeline.errors import SettingsError
from pipeline.schema_history import TableName
from pipeline.schema_history.ddl.effects import CreateTable, Unsupported
from pipeline.schema_history.ddl.schema_dump import DumpedStatement, dumped_at, dumped_statements
from pipeline.schema_history.timeline.definitions_file import TimelineStart, read_start

DUMP = r"""-- MySQL dump 10.13  Distrib 9.7.4
--
-- Host: localhost    Database: shop
-- ------------------------------------------------------
/*!40103 SET @OLD_TIME_ZONE=@@TIME_ZONE */;
/*!40103 SET TIME_ZONE='+00:00' */;
/*!40101 SET @OLD_SQL_MODE=@@SQL_MODE, SQL_MODE='NO_AUTO_VALUE_ON_ZERO' */;

--
-- Position to start replication or point-in-time recovery from
--

-- CHANGE REPLICATION SOURCE TO SOURCE_LOG_FILE='binlog.000004', SOURCE_LOG_POS=158;

DROP TABLE IF EXISTS `orders`;
/*!50503 SET character_set_client = utf8mb4 */;
CREATE TABLE `orders` (
  `id` int unsigned NOT NULL AUTO_INCREMENT,
  `no;te` varchar(20) COLLATE latin1_bin DEFAULT 'it''s; \'quoted\' -- not a comment',
  `e` enum('a','b;c') DEFAULT NULL COMMENT 'x /* y */ # z',
  PRIMARY KEY (`id`),
  UNIQUE KEY `u` (`no;te`)
) ENGINE=InnoDB DEFAULT CHARSET=latin1
/*!50100 PARTITION BY HASH (`id`) PARTITIONS 2 */;
/*!50001 CREATE TABLE `stand_in` (
  `a` tinyint NOT NULL
) ENGINE=MyISAM */;

DELIMITER ;;
/*!50003 CREATE*/ /*!50017 DEFINER=`root`@`%`*/ /*!50003 TRIGGER `t` BEFORE INSERT ON `orders`
FOR EACH ROW BEGIN SET NEW.e = 'a'; CREATE TABLE inner_ (a int); END */;;
DELIMITER ;

USE `a``b`;
CREATE TABLE `c` (`x` int);
/*!50001 DROP TABLE IF EXISTS `shop`.`stand_in`*/;
/*!50001 CREATE VIEW `stand_in` AS SELECT 1 AS `a` */;
-- Dump completed
"""


def written(folder: Path, name: str, text: str) -> str:
    path = folder / name
    path.write_text(text, encoding="utf-8")
    return str(path)


def columns(start: TimelineStart) -> dict[TableName, list[str]]:
    return {
        table.effect.name: [column.name for column in table.effect.definition.columns]
        for table in start.tables
        if isinstance(table.effect, CreateTable)
    }


def test_a_dump_s_tables_are_read_without_its_views_and_triggers(tmp_path: Path) -> None:
    start = read_start(written(tmp_path, "dump.sql", DUMP))
    assert columns(start) == {
        TableName("shop", "orders"): ["id", "no;te", "e"],
        TableName("a`b", "c"): ["x"],
    }
    assert start.place == ("binlog.000004", 158)
    first = start.tables[0]
    assert first.statement.time_zone == "+00:00"
    assert isinstance(first.effect, CreateTable)
    assert first.effect.definition.columns[2].labels == ("a", "b;c")
    assert first.effect.model is not None
    assert first.effect.model.charset == "latin1"
    assert [key.name for key in first.effect.model.keys or ()] == ["PRIMARY", "u"]


def test_a_dump_under_ansi_quotes_is_parsed_accordingly() -> None:
    text = "SET SQL_MODE='NO_AUTO_VALUE_ON_ZERO,ANSI';\nUSE `s`;\nCREATE TABLE \"t\" (a int)"
    assert list(dumped_statements(text)) == [
        DumpedStatement('CREATE TABLE "t" (a int)', "s", sql_mode=4)
    ]


@pytest.mark.parametrize(
    ("line", "place"),
    [
        ("CHANGE MASTER TO MASTER_LOG_FILE='b.000012', MASTER_LOG_POS=4;", ("b.000012", 4)),
        ("-- CHANGE MASTER TO MASTER_LOG_FILE='b.000012', MASTER_LOG_POS=42;", ("b.000012", 42)),
        ("-- nothing of it", None),
    ],
)
def test_the_position_of_a_dump(line: str, place: tuple[str, int] | None) -> None:
    assert dumped_at(f"-- x\n{line}\n") == place


def test_a_table_with_an_unknown_type_is_reported(tmp_path: Path) -> None:
    start = read_start(written(tmp_path, "d.sql", "USE s; CREATE TABLE t (u NEVERTYPE);"))
    (table,) = start.tables
    assert isinstance(table.effect, Unsupported)
    assert "NEVERTYPE" in table.effect.reason


YAML = """
shop.orders: CREATE TABLE orders (id INT PRIMARY KEY, v VARCHAR(9)) DEFAULT CHARSET=latin1
shop.order.lines:
  columns: {"line no": INT UNSIGNED NOT NULL, "e`x": "ENUM('a','b')", t: TEXT}
  primary_key: line no
  unique: [[t, "e`x"]]
  charset: latin1
"""


def test_yaml_has_statements_or_columns(tmp_path: Path) -> None:
    start = read_start(written(tmp_path, "definitions.yml", YAML))
    assert columns(start) == {
        TableName("shop", "orders"): ["id", "v"],
        TableName("shop", "order.lines"): ["line no", "e`x", "t"],
    }
    lines = start.tables[1].effect
    assert isinstance(lines, CreateTable)
    assert lines.definition.key == ("line no",)
    assert lines.definition.columns[0].unsigned
    assert lines.model is not None
    assert [key.columns for key in lines.model.keys or ()] == [("line no",), ("t", "e`x")]


@pytest.mark.parametrize(
    ("name", "text", "message"),
    [
        ("d.sql", "-- nothing", "has no CREATE TABLE"),
        ("d.yml", "[", "is not YAML"),
        ("d.yml", "s.t: 2026-02-30", "is not YAML"),
        ("d.yml", "", "has no tables"),
        ("d.yml", "orders: CREATE TABLE orders (a int)", "orders: not schema.table"),
        ("d.yml", "s.t: DROP TABLE t", "s.t: not a single CREATE TABLE"),
        ("d.yml", "s.t: CREATE TABLE u (a int)", "s.t: its statement creates s.u"),
        ("d.yml", "s.t: CREATE TABLE t (a NEVERTYPE)", "NEVERTYPE"),
        ("d.yml", "s.t: {columns: {a: NEVERTYPE}}", "NEVERTYPE"),
        ("d.yml", "s.t: {primary_key: a}", "needs columns"),
        (
            "d.yml",
            "s.t: {columns: {a: int}, keys: a}",
            "unknown field keys",
        ),
    ],
)
def test_errors_in_a_file_are_reported(tmp_path: Path, name: str, text: str, message: str) -> None:
    with pytest.raises(SettingsError, match="definitions") as caught:
        read_start(written(tmp_path, name, text))
    assert message in str(caught.value)
    assert name in str(caught.value)


def test_a_missing_file_is_reported(tmp_path: Path) -> None:
    with pytest.raises(SettingsError, match="cannot be read"):
        read_start(str(tmp_path / "none.sql"))
