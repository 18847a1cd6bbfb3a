"""Row filters of a lake's tables, for both pyarrow and Spark's SQL.

Nulls behave as in SQL: a row matches neither a comparison with null nor its negation.
"""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass
from datetime import date
from functools import reduce
from operator import or_

import pyarrow as pa
import pyarrow.compute as pc

from pipeline.lake.sql_text import literal, quoted

Value = str | int | bool | date

_COMPARED = {
    "=": pc.Expression.__eq__,
    "<": pc.Expression.__lt__,
    "<=": pc.Expression.__le__,
    ">": pc.Expression.__gt__,
    ">=": pc.Expression.__ge__,
}


@dataclass(frozen=True, slots=True, eq=False)
class Condition:
    """A row filter in both forms; combine filters with `&`, `|` and `~`.

    `opposite` is the expression of `~`: pyarrow's own negation treats nulls differently from SQL's.
    """

    sql: str
    expression: pc.Expression
    opposite: pc.Expression

    def __and__(self, other: Condition) -> Condition:
        return Condition(
            f"({self.sql} AND {other.sql})",
            self.expression & other.expression,
            self.opposite | other.opposite,
        )

    def __or__(self, other: Condition) -> Condition:
        return Condition(
            f"({self.sql} OR {other.sql})",
            self.expression | other.expression,
            self.opposite & other.opposite,
        )

    def __invert__(self) -> Condition:
        return Condition(f"(NOT {self.sql})", self.opposite, self.expression)


def compare(column: str, comparison: str, value: Value) -> Condition:
    """Match rows by a comparison with a value: `=`, `<`, `<=`, `>` or `>=`."""
    expression = _COMPARED[comparison](pc.field(column), pc.scalar(value))
    return Condition(f"{quoted(column)} {comparison} {_sql(value)}", expression, ~expression)


def equal(column: str, value: Value) -> Condition:
    """Match rows whose column has this value."""
    return compare(column, "=", value)


def among(column: str, values: Collection[Value]) -> Condition:
    """Match rows whose column has one of these values; no row if there are none."""
    if not values:
        return NO_ROWS
    listed = ", ".join(map(_sql, values))
    found = pc.field(column).isin(pa.array(list(values)))
    return Condition(f"{quoted(column)} IN ({listed})", found, ~found & pc.field(column).is_valid())


def missing(column: str) -> Condition:
    """Match rows whose column is null."""
    values = pc.field(column)
    return Condition(f"{quoted(column)} IS NULL", values.is_null(), values.is_valid())


def matches(column: str, pattern: str) -> Condition:
    """Match rows whose text column contains a match of a regular expression, which must mean the
    same in RE2 and in Java."""
    found = pc.match_substring_regex(pc.field(column), pattern)
    return Condition(f"{quoted(column)} RLIKE {literal(pattern)}", found, ~found)


def only_one(column: str, values: Collection[str]) -> Condition:
    """Match rows whose column is a list of one element, which is one of these values."""
    if not values:
        return NO_ROWS
    first = pc.list_element(pc.if_else(_has_one(column), pc.field(column), pa.scalar([""])), 0)
    listed = ", ".join(map(_sql, values))
    found = _has_one(column) & first.isin(pa.array(list(values)))
    name = quoted(column)
    sql = f"coalesce(size({name}) = 1 AND get({name}, 0) IN ({listed}), false)"
    return Condition(sql, found, ~found)


def any_of(conditions: Collection[Condition]) -> Condition:
    """Match rows that match at least one of the conditions."""
    return reduce(or_, conditions, NO_ROWS) if conditions else NO_ROWS


def _has_one(column: str) -> pc.Expression:
    length = pc.coalesce(pc.list_value_length(pc.field(column)), pa.scalar(0, pa.int32()))
    return length == pc.scalar(1)


def _sql(value: Value) -> str:
    if isinstance(value, str):
        return literal(value)
    if isinstance(value, date):
        return f"DATE'{value.isoformat()}'"
    return str(value).lower()


NO_ROWS = Condition("false", pc.scalar(False), pc.scalar(True))
"""Matches no row."""
ALL_ROWS = Condition("true", pc.scalar(True), pc.scalar(False))
"""Matches every row."""
