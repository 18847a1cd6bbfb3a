from __future__ import annotations

import pytest
from hypothesis import given, strategies as st

from decoder.model.definition import ColumnDefinition
from decoder.transactions.statements import may_change_tables
from pipeline.schema_history import TableName
from pipeline.schema_history.ddl.actions import (
    Action,
    AddForeignKey,
    ChangeColumn,
    ChangeKeys,
    ConvertCharset,
    DropColumn,
    DropForeignKey,
    Refused,
    RenameColumn,
    RowsNotLogged,
    SetCharset,
    SetEngine,
)
from pipeline.schema_history.ddl.ddl import StatementContext, effects
from pipeline.schema_history.ddl.effects import (
    AlterSchema,
    AlterTable,
    CreateSchema,
    CreateTable,
    CreateTableLike,
    DropSchema,
    DropTable,
    Effect,
    RenameTables,
    RowsChanged,
    TruncateTable,
    Unreadable,
    Unsupported,
)
from pipeline.schema_history.ddl.foreign_key_clause import ForeignKey
from pipeline.schema_history.ddl.keys import Key
from pipeline.schema_history.ddl.lexer import SqlMode

SHOP = StatementContext("shop")
T = TableName("shop", "t")


def only(query: str, session: StatementContext = SHOP) -> Effect:
    found = effects(query, session)
    assert len(found) == 1, found
    return found[0]


def columns(types: str, session: StatementContext = SHOP) -> list[ColumnDefinition]:
    created = only(types if types.startswith("CREATE") else f"CREATE TABLE t ({types})", session)
    assert isinstance(created, CreateTable), created
    return list(created.definition.columns)


@pytest.mark.parametrize(
    "query",
    [
        "CREATE USER x IDENTIFIED BY 'y'",
        "GRANT ALL ON *.* TO x",
        "FLUSH PRIVILEGES",
        "ALTER USER x ACCOUNT LOCK",
        "CREATE VIEW v AS SELECT 1",
        "CREATE DEFINER=`a`@`b` TRIGGER x BEFORE INSERT ON t FOR EACH ROW DROP TABLE u",
        "DROP PROCEDURE p",
        "CREATE INDEX i ON t (a)",
        "DROP INDEX i",
        "CREATE UNIQUE INDEX i USING",
        "CREATE DATABASE",
        "CREATE DATABASE 'x' COMMENT 'y",
        "DROP TEMPORARY TABLE IF EXISTS `t`",
        "ALTER DATABASE shop READ ONLY = 1",
        "ANALYZE TABLE t",
        "XA START 'a'",
        "no SQL at all, CREATE TABLE t (a int)",
        "RENAME USER a TO b",
        "ALTER TABLE t ADD INDEX (a), ADD CONSTRAINT c CHECK (a > 0), DROP CHECK k, COMMENT = 'x'",
        "ALTER TABLE t COALESCE PARTITION 2",
        "ALTER TABLE t REORGANIZE PARTITION",
        "ALTER TABLE t REBUILD PARTITION ALL",
        "ALTER TABLE t ORDER BY a, `drop`",
        "DROP SEQUENCE",
        "CREATE TABLE (a int)",
        "ALTER SEQUENCE s RESTART 5",
        "ALTER TABLE t STATS_PERSISTENT=1",
        "ALTER TABLE t",
        "",
    ],
)
def test_statements_that_change_no_rows_columns_or_keys_have_no_effect(query: str) -> None:
    assert effects(query, SHOP) == []


@pytest.mark.parametrize(
    ("query", "reason"),
    [
        ("CREATE TABLE t AS SELECT * FROM u", "SELECT"),
        ("CREATE TABLE t (a int) SELECT * FROM u", "SELECT"),
        ("CREATE TABLE t (SELECT * FROM u)", "SELECT"),
        ("CREATE TABLE t (a int) ENGINE = blackhole", "BLACKHOLE"),
        ("CREATE TABLE t (a int) WITH SYSTEM VERSIONING", "SYSTEM VERSIONING"),
        ("CREATE TABLE t (a int, b int WITH SYSTEM VERSIONING)", "SYSTEM VERSIONING"),
        ("CREATE TABLE t (a int) COMMENT 'x' SEQUENCE = 1", "SEQUENCE"),
        ("CREATE OR REPLACE SEQUENCE t START WITH 5", "SEQUENCE"),
        ("CREATE SEQUENCE IF NOT EXISTS t", "SEQUENCE"),
        ("CREATE TABLE t (a int, PRIMARY KEY (b))", "names an unknown column"),
    ],
)
def test_other_changes_of_a_table_hold_it(query: str, reason: str) -> None:
    effect = only(query)
    assert isinstance(effect, Unsupported)
    assert effect.name == T
    assert reason in effect.reason
    assert effect.creates == query.startswith("CREATE")


def alteration(actions: str) -> AlterTable:
    effect = only(f"ALTER TABLE t {actions}")
    assert isinstance(effect, AlterTable), effect
    return effect


@pytest.mark.parametrize(
    ("actions", "reason"),
    [
        ("ADD a nosuchtype", "unknown type NOSUCHTYPE"),
        ("ADD a int DEFAULT (1", "ends too early"),
        ("MODIFY a int REFERENCES o (b) ON UPDATE FORGET", "FORGET"),
        ("ENGINE = blackhole", "BLACKHOLE"),
        ("DROP COLUMN a, ADD SYSTEM VERSIONING", "versioning"),
    ],
)
def test_refused_actions_have_a_reason(actions: str, reason: str) -> None:
    (refused,) = [a for a in alteration(actions).actions if isinstance(a, Refused)]
    assert reason in refused.reason


def test_a_statement_that_ends_in_the_middle_holds_its_table() -> None:
    effect = only("ALTER TABLE t ADD a int COMMENT 'x")
    assert isinstance(effect, Unsupported)
    assert effect.name == T
    assert "ends inside" in effect.reason


@pytest.mark.parametrize(
    ("actions", "expected"),
    [
        ("DROP COLUMN a, DROP `b`", [DropColumn("a"), DropColumn("b")]),
        ("DROP COLUMN IF EXISTS a", [DropColumn("a", if_exists=True)]),
        ("RENAME COLUMN a TO `b c`", [RenameColumn("a", "b c")]),
        ("ADD PRIMARY KEY (a)", [ChangeKeys(Key("PRIMARY", ("a",), (0,)))]),
        ("ADD CONSTRAINT p PRIMARY KEY (a)", [ChangeKeys(Key("PRIMARY", ("a",), (0,)))]),
        ("ADD CONSTRAINT UNIQUE (a)", [ChangeKeys(Key(None, ("a",), (0,)))]),
        ("ADD UNIQUE INDEX u (a(3)), ADD INDEX i (a)", [ChangeKeys(Key("u", ("a",), (3,)))]),
        ("DROP PRIMARY KEY", [ChangeKeys(dropped="PRIMARY")]),
        ("DROP KEY k", [ChangeKeys(dropped="k")]),
        (
            "DROP CONSTRAINT `PRIMARY`",
            [ChangeKeys(dropped="PRIMARY"), DropForeignKey("PRIMARY", may_be_another=True)],
        ),
        ("RENAME INDEX a TO b", [ChangeKeys(renamed=("a", "b"))]),
        ("ENGINE=InnoDB DEFAULT CHARSET = latin1", [SetEngine("INNODB"), SetCharset("latin1")]),
        ("COLLATE utf8mb4_bin, COMMENT 'x'", [SetCharset("utf8mb4")]),
        (
            "DROP FOREIGN KEY f, DROP CHECK c, DROP COLUMN x",
            [DropForeignKey("f"), DropColumn("x")],
        ),
        (
            "ADD CONSTRAINT f FOREIGN KEY (a) REFERENCES o (b) ON DELETE RESTRICT",
            [AddForeignKey(ForeignKey(("a",), ("", "o"), ("b",), name="f"))],
        ),
        ("CONVERT TO CHARACTER SET UTF8MB4 COLLATE utf8mb4_bin", [ConvertCharset("utf8mb4")]),
        ("CONVERT TO CHARSET DEFAULT", [ConvertCharset(None)]),
    ],
)
def test_actions_on_columns_and_keys_are_read(actions: str, expected: list[Action]) -> None:
    assert list(alteration(actions).actions) == expected


@pytest.mark.parametrize(
    ("actions", "old", "name", "place"),
    [
        ("CHANGE a b bigint NOT NULL", "a", "b", None),
        ("CHANGE COLUMN `a b` b int FIRST", "a b", "b", ""),
        ("MODIFY COLUMN a bigint AFTER `c,d`", "a", "a", "c,d"),
        ("MODIFY IF EXISTS a text", "a", "a", None),
    ],
)
def test_changed_columns_have_a_complete_new_declaration(
    actions: str, old: str, name: str, place: str | None
) -> None:
    (action,) = alteration(actions).actions
    assert isinstance(action, ChangeColumn)
    assert (action.old, action.column.definition.name, action.column.place) == (old, name, place)


@pytest.mark.parametrize(
    ("query", "change"),
    [
        ("CREATE UNIQUE INDEX i ON t (a)", ChangeKeys(Key("i", ("a",), (0,)))),
        ("DROP INDEX `PRIMARY` ON t", ChangeKeys(dropped="PRIMARY")),
        ("DROP INDEX i ON t", ChangeKeys(dropped="i")),
    ],
)
def test_adding_or_dropping_an_index_may_change_the_key(query: str, change: ChangeKeys) -> None:
    assert effects(query, SHOP) == [AlterTable(T, (change,))]


def test_tables_are_renamed_in_pairs() -> None:
    a, b, c = (TableName("shop", name) for name in "abc")
    assert effects("RENAME TABLE a TO b, `b` TO other.c", SHOP) == [
        RenameTables(((a, b), (b, TableName("other", "c")))),
    ]
    assert effects("ALTER TABLE a RENAME TO b, DROP x", SHOP) == [
        AlterTable(a, (DropColumn("x"),), b)
    ]
    assert effects("ALTER TABLE b RENAME c", SHOP) == [AlterTable(b, (), c)]


def test_a_truncated_table_is_named() -> None:
    assert only("TRUNCATE t") == only("TRUNCATE TABLE `shop`.`t`") == TruncateTable(T)


@pytest.mark.parametrize(
    ("actions", "others"),
    [
        ("IMPORT TABLESPACE", []),
        ("DISCARD PARTITION ALL TABLESPACE", []),
        ("EXCHANGE PARTITION p WITH TABLE u WITHOUT VALIDATION", [RowsChanged]),
        ("ALGORITHM = COPY, LOCK = SHARED, EXCHANGE PARTITION p WITH TABLE u", [RowsChanged]),
        ("CONVERT PARTITION p TO TABLE u", [Unsupported]),
        ("ALGORITHM=COPY, CONVERT PARTITION p TO TABLE u", [Unsupported]),
        ("CONVERT TABLE u TO PARTITION p VALUES LESS THAN (5)", [DropTable]),
    ],
)
def test_unlogged_changes_of_rows_are_reported(actions: str, others: list[type[Effect]]) -> None:
    altered, *found = effects(f"ALTER TABLE t {actions}", SHOP)
    assert isinstance(altered, AlterTable)
    assert isinstance(altered.actions[0], RowsNotLogged)
    assert [type(effect) for effect in found] == others
    named = [e for e in found if isinstance(e, (RowsChanged, Unsupported, DropTable))]
    assert [effect.name for effect in named] == [TableName("shop", "u")] * len(others)


@pytest.mark.parametrize(
    ("query", "held"),
    [
        ("ALTER TABLE t ADD a int COMMENT 'x", [T]),
        ("CREATE TABLE t (a int COMMENT 'x", [T]),
        ("TRUNCATE TABLE t /* x", [T]),
        ("DROP TABLE t, `u", [None]),
        ("DROP TABLE t, u 'x", [T, TableName("shop", "u"), None]),
        ("RENAME TABLE t TO shop.t 'x", [T, T, None]),
        ("DROP TABLE `t", [None]),
        ("ALTER TABLE `t", [None]),
        ("DROP INDEX `i", []),
        ("CREATE DATABASE `i", []),
        ("CREATE TABLE `t", []),
    ],
)
def test_unreadable_statements_hold_the_tables_they_may_change(
    query: str, held: list[TableName | None]
) -> None:
    """None: any table."""
    assert [
        effect.name if isinstance(effect, Unsupported) else None for effect in effects(query, SHOP)
    ] == held


def test_a_dropped_database_is_identified_by_name() -> None:
    assert effects("DROP DATABASE `a-b` 'x", SHOP) == [DropSchema("a-b")]


def test_versioned_comments_are_code_for_mysql_or_mariadb() -> None:
    maria = StatementContext("shop", server_version=101106, mariadb=True)
    mysql = StatementContext("shop", server_version=80045)
    own = "CREATE TABLE t (a int /*M!100301 , b int */)"
    assert [len(columns(own, s)) for s in (maria, mysql)] == [2, 1]
    later = "CREATE TABLE t (a int /*M!110000 , b int */)"
    assert len(columns(later, maria)) == 1
    theirs = "CREATE TABLE t (a int /*!80000 , b int */ /*!50601 , c int */)"
    assert [len(columns(theirs, s)) for s in (maria, mysql)] == [2, 3]


@pytest.mark.parametrize(
    ("query", "expected"),
    [
        ("DROP TABLE `t`,other.`u` /* generated by server */", [
            DropTable(T), DropTable(TableName("other", "u")),
        ]),
        ("DROP TABLES IF EXISTS t CASCADE", [DropTable(T)]),
        ("/* x */ drop /*!40005 TABLE */ t", [DropTable(T)]),
        ("/*!80000 */ DROP TABLE t", [DropTable(T)]),
        ("/*!50001DROP TABLE t*/", [DropTable(T)]),
        ("-- x\n/*!50000 DROP */ TABLE t", [DropTable(T)]),
        ("/* DROP TABLE t */ FLUSH TABLES", []),
        ("DROP DATABASE IF EXISTS `a.b`", [DropSchema("a.b")]),
        ("CREATE OR REPLACE DATABASE x", [DropSchema("x"), CreateSchema("x")]),
        ("SET STATEMENT lock_wait_timeout=5 FOR TRUNCATE TABLE t", [TruncateTable(T)]),
        ("set statement a=b(';FOR'), c = 1 for DROP TABLE t", [DropTable(T)]),
        ("SET STATEMENT a = 'DROP TABLE t'", []),
        ("CREATE SCHEMA x DEFAULT CHARSET latin1", [CreateSchema("x", charset="latin1")]),
        ("ALTER DATABASE CHARACTER SET latin1", [AlterSchema("shop", "latin1")]),
        ("CREATE DATABASE IF NOT EXISTS x", [CreateSchema("x", if_not_exists=True)]),
        ("CREATE TABLE t LIKE u.v", [CreateTableLike(T, TableName("u", "v"))]),
        ("CREATE TABLE IF NOT EXISTS t (LIKE v)", [
            CreateTableLike(T, TableName("shop", "v"), if_not_exists=True),
        ]),
    ],
)  # fmt: skip
def test_tables_and_schemas_are_created_and_dropped(query: str, expected: list[Effect]) -> None:
    assert effects(query, SHOP) == expected


def test_a_versioned_comment_is_code_from_its_version_on() -> None:
    session = StatementContext("shop", server_version=90700)
    assert effects("/*!99999 no code for it */ DROP TABLE t", session) == [DropTable(T)]
    assert effects("/*!99999 DROP TABLE t */", session) == []
    assert effects("/*!90700 DROP TABLE t */", session) == [DropTable(T)]


def test_a_name_without_any_schema_is_unreadable() -> None:
    assert isinstance(only("DROP TABLE t", StatementContext(None)), Unreadable)


def test_ansi_quotes_name_tables() -> None:
    session = StatementContext("shop", int(SqlMode.ANSI_QUOTES))
    assert only('DROP TABLE "a.b"."c d"', session) == DropTable(TableName("a.b", "c d"))


def test_create_or_replace_drops_the_table_first() -> None:
    first, second = effects("CREATE OR REPLACE TABLE t (a int)", SHOP)
    assert first == DropTable(T)
    assert isinstance(second, CreateTable)


@given(st.text(alphabet="ALTERTABLE CREATEDROP`'\"(),.-/*!0123\\ab\n", max_size=60))
def test_no_statement_raises_an_unexpected_error(text: str) -> None:
    for head in ("ALTER TABLE t ", "CREATE TABLE t (a int, ", "DROP TABLE ", "RENAME TABLE "):
        assert may_change_tables(head + text)
        effects(head + text, SHOP)
