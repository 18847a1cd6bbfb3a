"""Stored expressions of generated columns: read back, renamed, and printed."""

from __future__ import annotations

import pytest

from pipeline.schema_history.ddl.expression_reader import (
    expression_tokens,
    kept_expression,
    printed_expression,
    renamed_expression,
)
from pipeline.schema_history.ddl.lexer import StatementContext


@pytest.mark.parametrize(
    ("expression", "renamed"),
    [
        ("a + b", "x y + b"),
        ("`A`*2", "x y * 2"),
        ("a(a, 'a')", "a(x y, 'a')"),  # functions and strings are not columns
        ("b", "b"),
    ],
)
def test_a_renamed_column_is_renamed_in_expressions(expression: str, renamed: str) -> None:
    tokens = StatementContext().tokens(expression)
    kept = kept_expression(tokens)
    assert expression_tokens(kept) == tuple(tokens)
    found = renamed_expression(kept, {"a": "x y", "c": None})
    assert printed_expression(found) == renamed


def test_columns_that_are_not_generated_have_no_expression() -> None:
    assert kept_expression(()) == ""
    assert expression_tokens("") == ()
    assert renamed_expression("", {"a": "b"}) == ""
