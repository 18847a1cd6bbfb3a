"""Which rows of a lake's table are meant, said once for pyarrow and for Spark's SQL.

Nulls count as in SQL: a comparison with one holds for no row, and neither does its opposite.
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
    """A condition on rows, in both forms; `&`, `|` and `~` put conditions together.

    `opposite` is what `~` gives: pyarrow's own negation says more of nulls than SQL's.
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
    """`comparison`: `=`, `<`, `<=`, `>` or `>=`."""
    expression = _COMPARED[comparison](pc.field(column), pc.scalar(value))
    return Condition(f"{quoted(column)} {comparison} {_sql(value)}", expression, ~expression)


def equal(column: str, value: Value) -> Condition:
    """The column has this value."""
    return compare(column, "=", value)


def among(column: str, values: Collection[Value]) -> Condition:
    """The column has one of these values; without any, no row is meant."""
    if not values:
        return NO_ROWS
    listed = ", ".join(map(_sql, values))
    found = pc.field(column).isin(pa.array(list(values)))
    return Condition(f"{quoted(column)} IN ({listed})", found, ~found & pc.field(column).is_valid())


def missing(column: str) -> Condition:
    """The column is null."""
    values = pc.field(column)
    return Condition(f"{quoted(column)} IS NULL", values.is_null(), values.is_valid())


def matches(column: str, pattern: str) -> Condition:
    """The column's text has something in it that a regular expression matches: one that means the
    same in RE2 and in Java."""
    found = pc.match_substring_regex(pc.field(column), pattern)
    return Condition(f"{quoted(column)} RLIKE {literal(pattern)}", found, ~found)


def only_one(column: str, values: Collection[str]) -> Condition:
    """The column is a list with one element, which is one of these; holds for no null."""
    if not values:
        return NO_ROWS
    first = pc.list_element(pc.if_else(_has_one(column), pc.field(column), pa.scalar([""])), 0)
    listed = ", ".join(map(_sql, values))
    found = _has_one(column) & first.isin(pa.array(list(values)))
    name = quoted(column)
    sql = f"coalesce(size({name}) = 1 AND get({name}, 0) IN ({listed}), false)"
    return Condition(sql, found, ~found)


def any_of(conditions: Collection[Condition]) -> Condition:
    """At least one of them holds."""
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
"""No row at all."""
ALL_ROWS = Condition("true", pc.scalar(True), pc.scalar(False))
"""Every row."""
