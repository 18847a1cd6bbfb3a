"""Expressions of generated columns (`pipeline.schema_history.ddl.expressions`) as Spark columns.

Each value comes with a condition: whether it is certain for the row. LOWER, for example, is certain
for ASCII; nothing is for text with invalid bytes, which gold does not have.

MariaDB stores JSON as the inserted text, and its functions return its parts unchanged: digits as
written, and the first of several members with the same name. That is certain for scalars without
escapes, in documents in which no object repeats a name.
"""

from __future__ import annotations

import json
import operator
from collections.abc import Callable
from decimal import Decimal
from functools import reduce
from typing import Any

from pyspark.sql import Column, functions as sf, types as st

from pipeline.gold.changes.images import REPLACEMENT
from pipeline.gold.changes.patched_json import Number
from pipeline.lake.sql_text import quoted

ColumnSource = Callable[[str], Column]
"""Returns a column of the row by its name."""
_ASCII = r"\A[\x00-\x7f]*\z"
_NUMERIC = r"\A-?[0-9]{1,18}(\.[0-9]{1,17})?\z"
_REST = (1 << 31) - 1
_NUMERIC_TYPE = st.DecimalType(36, 17)

_ARITHMETIC: dict[str, Callable[[Column, Column], Column]] = {
    "+": operator.add,
    "-": operator.sub,
    "*": operator.mul,
    "div": lambda left, right: sf.call_function("div", left, sf.nullif(right, sf.lit(0))),
    "mod": lambda left, right: left % sf.nullif(right, sf.lit(0)),
}
_CONDITIONS: dict[str, Callable[..., Column]] = {
    "=": operator.eq,
    "<>": operator.ne,
    "<": operator.lt,
    "<=": operator.le,
    ">": operator.gt,
    ">=": operator.ge,
    "and": operator.and_,
    "or": operator.or_,
    "not": operator.invert,
    "is_null": Column.isNull,
}
_FUNCTIONS: dict[str, Callable[..., Column]] = {
    "concat": lambda *parts: sf.concat(*(part.cast("string") for part in parts)),
    "concat_ws": lambda separator, *parts: sf.concat_ws(
        separator, *(part.cast("string") for part in parts)
    ),
    "coalesce": sf.coalesce,
    "typed": lambda value, digits, scale: value.cast(st.DecimalType(digits, scale)),
    "as_number": lambda value: value.cast("int").cast(st.DecimalType(1, 0)),
    "as_text": lambda value: value.cast("string"),
    "left": lambda text, count: sf.substring(text, 1, count),
    "right": lambda text, count: sf.right(text, sf.lit(count)),
    "substring": lambda text, start, count=_REST: sf.substring(text, start, count),
    "sha2": lambda text, bits: sf.sha2(text.cast("binary"), bits),
    "lower": sf.lower,
    "upper": sf.upper,
    "trim": sf.trim,
    "ltrim": sf.ltrim,
    "rtrim": sf.rtrim,
    "char_length": sf.char_length,
    "md5": lambda text: sf.md5(text.cast("binary")),
    "sha1": lambda text: sf.sha1(text.cast("binary")),
    "crc32": lambda text: sf.crc32(text.cast("binary")).cast(st.DecimalType(10, 0)),
    "abs": lambda number, *_: sf.abs(number),
    "to_date": lambda value: value.cast("date"),
    "year": sf.year,
    "month": sf.month,
    **dict.fromkeys(("day", "dayofmonth"), sf.dayofmonth),
    "quarter": sf.quarter,
    "hour": sf.hour,
    "minute": sf.minute,
    "second": sf.second,
}


def generated_value(expression: str, source: ColumnSource | None = None) -> tuple[Column, Column]:
    """Return the expression's value before it is stored in its column, and if it is certain."""
    row = _RowEvaluator(source or (lambda name: sf.col(quoted(name))))
    value = row.value(json.loads(expression))
    return value, reduce(Column.__and__, row.certain, sf.lit(True))


class _RowEvaluator:
    """Evaluator of trees over one row's columns, with the conditions for certainty."""

    def __init__(self, source: ColumnSource) -> None:
        self.source = source
        self.certain: list[Column] = []

    def value(self, tree: list[Any]) -> Column:
        kind, *parts = tree
        if kind in _ARITHMETIC:
            left, right, digits, scale = parts
            found = _ARITHMETIC[kind](self.value(left), self.value(right))
            fits = found.try_cast(st.DecimalType(digits, scale))
            self._require(found.isNull() | fits.isNotNull())
            return fits
        if kind in _CONDITIONS:
            return _CONDITIONS[kind](*map(self.value, parts))
        if kind in _LEAVES:
            return _LEAVES[kind](self, *parts)
        if kind in _JSON:
            return self.json(_JSON[kind], *parts)
        values = [self.value(part) if isinstance(part, list) else part for part in parts]
        return _FUNCTIONS[kind](*values)

    def _require(self, condition: Column) -> None:
        """Add a condition for certainty; NULL counts as satisfied."""
        self.certain.append(sf.coalesce(condition, sf.lit(True)))

    # --- leaves, and functions that also set conditions -------------------------------------------

    def column(self, name: str, digits: int, scale: int) -> Column:
        found = self.source(name)
        if digits:  # results of Spark's integers must fit their own widths
            return found.cast(st.DecimalType(digits, scale))
        self._require(~sf.contains(found, sf.lit(REPLACEMENT)))
        return found

    def date(self, name: str) -> Column:
        found = self.source(name)
        self.certain.append(found.isNotNull())  # NULL may be a zero date
        return found

    def case(self, *parts: list[Any]) -> Column:
        *pairs, otherwise = parts
        found = self.value(otherwise)
        for condition, result in reversed(list(zip(pairs[::2], pairs[1::2], strict=True))):
            found = sf.when(self.value(condition), self.value(result)).otherwise(found)
        return found

    def ascii(self, text: list[Any]) -> Column:
        found = self.value(text)
        self._require(found.rlike(_ASCII))
        return found

    def numeric(self, text: list[Any]) -> Column:
        found = self.value(text)
        self._require(found.rlike(_NUMERIC))
        return found.try_cast(_NUMERIC_TYPE)

    def json(self, at: Callable[..., Column], document: list[Any], path: str) -> Column:
        found = at(self.value(document), sf.lit(path))
        self.certain.append(found.getField("certain"))
        return found.getField("value")


_LEAVES: dict[str, Callable[..., Column]] = {
    "column": _RowEvaluator.column,
    "date": _RowEvaluator.date,
    "no_value": lambda row, name: row.source(name).isNull(),
    "no_date": lambda row, name: row.date(name).isNull(),
    "number": lambda _, digits: sf.lit(Decimal(digits)),
    "text": lambda _, characters: sf.lit(characters),
    "null": lambda _: sf.lit(None),
    "case": _RowEvaluator.case,
    "ascii": _RowEvaluator.ascii,
    "numeric": _RowEvaluator.numeric,
}


# --- values at paths of JSON documents ------------------------------------------------------------


def _json_at(printed: Callable[[Any], str | None]) -> Callable[..., tuple[str | None, bool]]:
    """Return a function from a document and a path like `$.a.b` to a value, and if it is certain.

    `printed` prints what is found, and raises ValueError if the result is not certain.
    """

    def found(document: str | None, path: str) -> tuple[str | None, bool]:
        if document is None:
            return None, True
        if "\\" in document:
            return None, False
        try:
            return printed(_at(_parsed(document), path.split(".")[1:])), True
        except LookupError:
            return None, True
        except ValueError:
            return None, False

    return found


def _parsed(document: str) -> Any:
    return json.loads(
        document,
        parse_int=Number,
        parse_float=Number,
        parse_constant=_refused,
        object_pairs_hook=_members,
    )


def _members(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(pairs)
    if len(found) < len(pairs):
        raise ValueError("a name is repeated")
    return found


def _refused(constant: str) -> Any:
    raise ValueError(constant)


def _at(value: Any, names: list[str]) -> Any:
    """Return the value at a path. Raises KeyError if there is none."""
    for name in names:
        if not isinstance(value, dict):
            raise ValueError("the path continues in a value that is not an object")
        value = value[name]
    return value


def _value(value: Any) -> str | None:
    if value is None or isinstance(value, (dict, list)):
        raise ValueError("not a scalar")
    return str(int(value)) if isinstance(value, bool) else str(value)


def _extract(value: Any) -> str | None:
    if isinstance(value, (dict, list)):
        raise ValueError("not a scalar")
    if value is None or isinstance(value, bool):
        return json.dumps(value)
    return str(value) if isinstance(value, Number) else f'"{value}"'


def _unquote(value: Any) -> str | None:
    text = _extract(value)
    return text if text is None or isinstance(value, Number) else text.strip('"')


_FOUND = st.StructType().add("value", st.StringType()).add("certain", st.BooleanType())
_JSON = {
    name: sf.udf(_json_at(printed), _FOUND, useArrow=False)
    for name, printed in (
        ("json_value", _value),
        ("json_extract", _extract),
        ("json_unquote", _unquote),
    )
}
