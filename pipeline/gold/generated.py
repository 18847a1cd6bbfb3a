"""Expressions of generated columns (`pipeline.catalog.generated`) over gold's columns."""

from __future__ import annotations

import json
import operator
from collections.abc import Callable
from decimal import Decimal
from typing import Any

from pyspark.sql import Column, functions as sf, types as st

from pipeline.sql_text import quoted

_OPERATORS: dict[str, Callable[[Column, Column], Column]] = {
    "+": operator.add,
    "-": operator.sub,
    "*": operator.mul,
}


def generated_value(expression: str) -> Column:
    """What the expression gives, before it is stored in its column."""
    return _value(json.loads(expression))


def _value(tree: list[Any]) -> Column:
    kind, *parts = tree
    if kind == "column":
        return sf.col(quoted(parts[0]))
    if kind == "number":
        return sf.lit(Decimal(parts[0]))
    if kind == "text":
        return sf.lit(parts[0])
    if kind == "concat":
        return sf.concat(*(_value(part).cast("string") for part in parts))
    left, right, digits, scale = parts
    exact = st.DecimalType(digits, scale)
    return _OPERATORS[kind](_exact(left), _exact(right)).cast(exact)


def _exact(tree: list[Any]) -> Column:
    """An operand as a decimal: results of Spark's integers must fit their own widths."""
    value = _value(tree)
    return value.cast(st.DecimalType(*tree[2:])) if tree[0] == "column" else value
