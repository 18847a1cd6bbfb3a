"""Declarations of CREATE TABLE and ADD COLUMN: columns in every spelling, keys, defaults."""

from __future__ import annotations

import pytest

from decoder.constants import ColumnType
from pipeline.schema_history.ddl.actions import AddColumn, NewColumn
from pipeline.schema_history.ddl.ddl import StatementContext
from pipeline.schema_history.ddl.effects import AlterTable, CreateTable
from pipeline.schema_history.ddl.foreign_key_clause import ForeignKey
from pipeline.schema_history.ddl.lexer import SqlMode
from tests.unit.pipeline.schema_history.ddl.test_ddl import columns, only


def test_create_table_declares_columns_key_and_foreign_keys() -> None:
    created = only(
        """CREATE TABLE t (
          id bigint unsigned NOT NULL AUTO_INCREMENT,
          `primary` varchar(20) CHARSET latin1 COLLATE latin1_bin DEFAULT 'a,)''b' COMMENT 'x(',
          e enum('a','b ') NOT NULL DEFAULT 'a' INVISIBLE,
          ts timestamp(3) NULL DEFAULT CURRENT_TIMESTAMP(3) ON UPDATE CURRENT_TIMESTAMP(3),
          g int GENERATED ALWAYS AS (id + 1) STORED CHECK (g > 0),
          p point NOT NULL /*!80003 SRID 4326 */,
          period int,
          PRIMARY KEY USING BTREE (`ID`, `primary`(3) DESC),
          UNIQUE KEY u (e), KEY (g), CONSTRAINT CHECK (id > 0),
          CONSTRAINT f FOREIGN KEY (g) REFERENCES o (id) ON UPDATE NO ACTION ON DELETE CASCADE
        ) ENGINE=InnoDB AUTO_INCREMENT=5 DEFAULT CHARSET=utf8mb4 COMMENT='PARTITION SELECT'
        /*!50100 PARTITION BY HASH (id) PARTITIONS 4 */"""
    )
    assert isinstance(created, CreateTable)
    definition = created.definition
    assert [c.name for c in definition.columns] == [
        "id", "primary", "e", "ts", "g", "p", "period",
    ]  # fmt: skip
    assert definition.primary_key == (0, 1)
    assert definition.primary_key_prefixes == (0, 3)
    assert [c.nullable for c in definition.columns] == [
        False, False, False, True, True, False, True,
    ]  # fmt: skip
    assert definition.columns[2].labels == ("a", "b")
    assert not definition.columns[2].visible
    assert definition.columns[3].fraction == 3
    key = ForeignKey(("g",), ("", "o"), ("id",), on_delete="CASCADE", name="f")
    assert created.foreign_keys == (key,)


@pytest.mark.parametrize(
    ("spelled", "expected"),
    [
        ("boolean", {"type": ColumnType.TINY}),
        ("int4 unsigned", {"type": ColumnType.LONG, "unsigned": True}),
        ("middleint(5) zerofill", {"type": ColumnType.INT24, "unsigned": True}),
        ("serial", {"type": ColumnType.LONGLONG, "unsigned": True, "nullable": False}),
        ("decimal", {"type": ColumnType.NEWDECIMAL, "precision": 10, "scale": 0}),
        ("numeric(65, 30)", {"type": ColumnType.NEWDECIMAL, "precision": 65, "scale": 30}),
        ("fixed(7)", {"type": ColumnType.NEWDECIMAL, "precision": 7, "scale": 0}),
        ("float(24)", {"type": ColumnType.FLOAT}),
        ("float(25)", {"type": ColumnType.DOUBLE}),
        ("float(7, 3)", {"type": ColumnType.FLOAT}),
        ("double precision", {"type": ColumnType.DOUBLE}),
        ("real", {"type": ColumnType.DOUBLE}),
        ("bit", {"type": ColumnType.BIT, "length": 1}),
        ("bit(64)", {"type": ColumnType.BIT, "length": 64}),
        ("year(4)", {"type": ColumnType.YEAR}),
        ("datetime(6)", {"type": ColumnType.DATETIME2, "fraction": 6}),
        ("time", {"type": ColumnType.TIME2, "fraction": 0}),
        ("national character varying(3)", {"type": ColumnType.VARCHAR}),
        ("nchar(3)", {"type": ColumnType.STRING}),
        ("char varying(3)", {"type": ColumnType.VARCHAR}),
        ("binary(3)", {"type": ColumnType.STRING, "length": 3, "collation": 63}),
        ("char(3) byte", {"type": ColumnType.STRING, "length": 3, "collation": 63}),
        ("varchar(9) charset binary", {"type": ColumnType.VARCHAR, "length": 9, "collation": 63}),
        ("varchar(9) NOT NULL COLLATE binary", {"length": 9, "collation": 63}),
        ("blob(300)", {"type": ColumnType.BLOB, "length_bytes": 2, "collation": 63}),
        ("longtext", {"type": ColumnType.BLOB, "length_bytes": 4}),
        ("long varbinary", {"type": ColumnType.BLOB, "length_bytes": 3, "collation": 63}),
        ("long", {"type": ColumnType.BLOB, "length_bytes": 3}),
        ("set('a','b')", {"type": ColumnType.SET, "labels": ("a", "b"), "length": 1}),
        ("json", {"type": ColumnType.JSON}),
        ("multipolygon", {"type": ColumnType.GEOMETRY, "geometry_type": 6}),
        ("geomcollection", {"type": ColumnType.GEOMETRY, "geometry_type": 7}),
        ("vector(3)", {"type": ColumnType.VECTOR, "dimension": 3}),
        ("vector", {"type": ColumnType.VECTOR, "dimension": 2048}),
    ],
)
def test_types_are_read_in_every_spelling(spelled: str, expected: dict[str, object]) -> None:
    (column,) = columns(f"a {spelled}")
    assert {name: getattr(column, name) for name in expected} == expected


def test_real_is_a_float_under_its_sql_mode() -> None:
    created = only("CREATE TABLE t (a real)", StatementContext("shop", int(SqlMode.REAL_AS_FLOAT)))
    assert isinstance(created, CreateTable)
    assert created.definition.columns[0].type is ColumnType.FLOAT


def test_a_table_of_charset_binary_has_binary_columns() -> None:
    created = only("CREATE TABLE t (a char(3), b text, c enum('x')) COLLATE = binary")
    assert isinstance(created, CreateTable)
    assert [c.collation for c in created.definition.columns] == [63, 63, 255]


def test_added_columns_have_positions_and_defaults() -> None:
    added = added_by(
        "ALTER TABLE t ADD COLUMN (a int, b int DEFAULT -3), ADD c datetime DEFAULT now() FIRST, "
        "ADD COLUMN `d` varchar(3) NOT NULL DEFAULT _utf8mb4'x' AFTER a, ADD INDEX (a)"
    )
    assert [(c.definition.name, c.place) for c in added] == [
        ("a", None), ("b", None), ("c", ""), ("d", "a"),
    ]  # fmt: skip
    assert [[t.text for t in c.default] for c in added] == [
        [], ["-", "3"], ["now", "(", ")"], ["_utf8mb4", "x"],
    ]  # fmt: skip


def added_by(query: str) -> list[NewColumn]:
    effect = only(query)
    assert isinstance(effect, AlterTable)
    return [action.column for action in effect.actions if isinstance(action, AddColumn)]


@pytest.mark.parametrize(
    ("declared", "computed"),
    [
        ("a int AS (1) STORED", "a generated column"),
        ("a int GENERATED ALWAYS AS (b + 1) VIRTUAL", "a generated column"),
        ("a bigint AUTO_INCREMENT UNIQUE", "AUTO_INCREMENT"),
        ("a SERIAL", "AUTO_INCREMENT"),
    ],
)
def test_computed_columns_are_recognized(declared: str, computed: str) -> None:
    (added,) = added_by(f"ALTER TABLE t ADD {declared}")
    assert added.computed == computed
