"""Detection of statements that may change rows without rows events."""

from __future__ import annotations

import pytest

from decoder.transactions.statements import is_dml


@pytest.mark.parametrize(
    ("query", "anywhere", "in_transaction"),
    [
        ("INSERT INTO t VALUES (1)", True, True),
        ("/* app:7 */ update t set a = 1", True, True),
        ("-- x\n(SELECT f())", True, True),
        ("/*!80000 */ DELETE FROM t", True, True),
        ("/*!99999 set a */ INSERT INTO t VALUES (1)", False, True),
        ("CREATE TABLE t (a int)", False, False),
        ("/* app:7 */ DROP TABLE t", False, False),
        ("SET @a = 1", False, False),
        # unknown: it may change rows inside a transaction
        ("FROBNICATE t", False, True),
    ],
)
def test_statements_that_may_change_rows_are_dml(
    query: str, anywhere: bool, in_transaction: bool
) -> None:
    assert is_dml(query, in_transaction=False) == anywhere
    assert is_dml(query, in_transaction=True) == in_transaction
