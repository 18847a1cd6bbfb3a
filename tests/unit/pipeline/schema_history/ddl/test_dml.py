"""The target tables of DML in all its forms; None if they cannot be determined."""

from __future__ import annotations

import pytest
from hypothesis import given, strategies as st

from pipeline.schema_history import TableName
from pipeline.schema_history.ddl.ddl import StatementContext
from pipeline.schema_history.ddl.dml import targets
from pipeline.schema_history.ddl.lexer import SqlMode
from pipeline.schema_history.timeline.consequences import Consequences, with_consequences

SESSION = StatementContext("s")
_ALL = "s.t s.u s.v s.w"
TRIGGER = (
    "CREATE DEFINER=`root`@`%` TRIGGER x AFTER INSERT ON parent FOR EACH ROW"
    " BEGIN INSERT INTO `LOG` VALUES (NEW.a); CALL p(1); END"
)


@pytest.mark.parametrize(
    ("query", "names"),
    [
        ("INSERT INTO t VALUES (1)", "s.t"),
        ("insert low_priority ignore `o``dd`.`t t` (a) SELECT * FROM u", "o`dd.t t"),
        ("/* c */ REPLACE DELAYED t SET a = (SELECT max(a) FROM u)", "s.t"),
        ("(INSERT INTO t VALUES (1))", "s.t"),
        ("INSERT INTO t VALUES " + ", ".join(["('x''y')"] * 2000), "s.t"),
        ("LOAD DATA LOCAL INFILE 'INTO TABLE x' REPLACE INTO TABLE d.t FIELDS", "d.t"),
        ("LOAD XML INFILE 'f' INTO TABLE t", "s.t"),
        ("UPDATE t SET a = 1 WHERE b IN (SELECT b FROM u)", "s.t"),
        ("UPDATE LOW_PRIORITY IGNORE t AS x SET x.a = 1", "s.t"),
        ("UPDATE t x, d.u AS y SET x.a = y.a WHERE x.b = y.b", "s.t d.u"),
        ("UPDATE t JOIN (u, v) ON f(t.a, u.a) LEFT JOIN w USING (a, b) SET a = 1", _ALL),
        ("UPDATE t JOIN (SELECT a FROM u, v) x ON x.a = t.a SET t.b = 1", "s.t"),
        ("UPDATE t USE INDEX (a, b) STRAIGHT_JOIN u PARTITION (p) SET t.b = 1", "s.t s.u"),
        ("UPDATE (t) SET a = 1", "s.t"),
        ("WITH x (a) AS (SELECT 1), y AS (SELECT 2) UPDATE t, x SET t.a = x.a", "s.t"),
        ("DELETE FROM t WHERE a = 1", "s.t"),
        ("DELETE QUICK FROM `t` AS x ORDER BY a LIMIT 1", "s.t"),
        ("DELETE FROM t PARTITION (p0)", "s.t"),
        ("DELETE a, b.* FROM t AS a JOIN d.u b ON a.x = b.x WHERE a.y", "s.t d.u"),
        ("DELETE FROM a, b USING t AS a INNER JOIN u AS b ON a.x = b.x", "s.t s.u"),
        ("WITH x AS (SELECT 1) DELETE FROM t WHERE a IN (SELECT * FROM x)", "s.t"),
        ("WITH t AS (SELECT 1) DELETE FROM s.t WHERE a IN (SELECT * FROM t)", "s.t"),
        ("SET STATEMENT max_statement_time = 9, a = f(1) FOR DELETE FROM t", "s.t"),
        ("SET STATEMENT a = 1 FOR INSERT INTO t VALUES (1)", "s.t"),
    ],
)  # fmt: skip
def test_targets(query: str, names: str) -> None:
    found = targets(query, SESSION)
    assert found is not None
    if "o`dd" in names:
        assert found == {TableName("o`dd", "t t")}
    else:
        assert found == {TableName(*name.split(".")) for name in names.split()}


@pytest.mark.parametrize(
    "query",
    [
        *("CALL p()", "SELECT f()", "DO f(1)", "WITH x AS (SELECT 1) SELECT f()", "MYSTERY", ""),
        *("INSERT", "DELETE", "UPDATE SET a = 1", "LOAD DATA INFILE 'x'", "INSERT INTO 'x'"),
        *("UPDATE t", "HANDLER t OPEN", "INSERT INTO `t"),
    ],
)
def test_statements_with_unknown_targets(query: str) -> None:
    found = targets(query, SESSION)
    assert found is None or query == "UPDATE t"


def test_an_unqualified_name_without_a_default_schema_is_unknown() -> None:
    assert targets("INSERT INTO t VALUES (1)", StatementContext()) is None
    assert targets("INSERT INTO d.t VALUES (1)", StatementContext()) == {TableName("d", "t")}


def test_the_session_s_sql_mode_applies() -> None:
    assert targets('DELETE FROM "t"', SESSION) is None
    assert targets('DELETE FROM "t"', StatementContext("s", SqlMode.ANSI_QUOTES)) == {
        TableName("s", "t")
    }


@given(st.text())
def test_no_text_raises(text: str) -> None:
    for head in ("", "UPDATE ", "DELETE ", "INSERT ", "WITH x AS ", "DELETE a FROM "):
        targets(head + text, SESSION)


KNOWN = {TableName("s", name) for name in ("parent", "child", "grandchild", "log", "other", "far")}


@pytest.mark.parametrize(
    ("statements", "table", "reached"),
    [
        ([], "s.parent", "s.parent"),
        (
            [
                "CREATE TABLE child (a INT, FOREIGN KEY (a) REFERENCES parent (a))",
                "ALTER TABLE `grandchild` ADD FOREIGN KEY (a) REFERENCES s.child (a)",
            ],
            "s.parent",
            "s.child s.grandchild s.parent",
        ),
        (
            ["CREATE TABLE child (a INT, FOREIGN KEY (a) REFERENCES parent (a))"],
            "s.child",
            "s.child",
        ),
        (
            [
                TRIGGER,
                "CREATE PROCEDURE IF NOT EXISTS s.p (a INT) UPDATE other SET b = a",
                "CREATE FUNCTION unrelated () RETURNS INT RETURN (SELECT 1 FROM far)",
            ],
            "s.parent",
            "s.log s.other s.parent",
        ),
        (["CREATE TRIGGER x AFTER INSERT ON `parent"], "s.parent", "s.parent"),
        (
            [
                "CREATE VIEW v AS SELECT * FROM child",
                "CREATE OR REPLACE ALGORITHM=MERGE DEFINER=`a`@`b` VIEW w AS SELECT a FROM s.v",
            ],
            "s.w",
            "s.child",
        ),
    ],
)
def test_consequences(statements: list[str], table: str, reached: str) -> None:
    consequences = Consequences()
    for statement in statements:
        consequences.note(statement, "s")
    assert with_consequences([table], consequences.of(KNOWN)) == reached.split()
