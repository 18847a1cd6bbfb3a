from __future__ import annotations

import pytest

from pipeline.silver.dml import changed_tables


@pytest.mark.parametrize(
    ("query", "tables"),
    [
        ("INSERT INTO t (a) VALUES (1)", {"s.t"}),
        ("INSERT INTO t SELECT * FROM u", {"s.t"}),
        ("REPLACE INTO `x y`.`t` VALUES (1)", {"x y.t"}),
        ("UPDATE t SET a = 1 WHERE b IN (1, 2)", {"s.t"}),
        ("DELETE FROM o.t LIMIT 1", {"o.t"}),
        ("UPDATE t, o.u SET t.a = 1, u.b = 2", {"s.t", "o.u"}),
        ("insert ignore into t set a = 1 on duplicate key update a = 2", {"s.t"}),
        ("DELETE QUICK a FROM t AS a JOIN u ON a.id = u.id", {"s.t", "s.u"}),
        ("UPDATE LOW_PRIORITY t SET a = 1", {"s.t"}),
        ("CALL p(1)", None),
        ("SELECT f(1)", None),
        ("INSERT INTO", None),
        ("", None),
    ],
)
def test_the_tables_that_a_statement_changes(query: str, tables: set[str] | None) -> None:
    assert changed_tables(query, "s") == tables


def test_a_table_without_a_schema_is_not_known() -> None:
    assert changed_tables("DELETE FROM t", None) is None
