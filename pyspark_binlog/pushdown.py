"""Filters that Spark pushes down: on `__lsn`, `__op` and `__committed_at`.

They skip whole ranges of the log, and drop rows before they are sent to Java.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import datetime, timezone
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
from pyspark.sql.datasource import (
    EqualTo,
    Filter,
    GreaterThan,
    GreaterThanOrEqual,
    In,
    IsNotNull,
    LessThan,
    LessThanOrEqual,
)

from pyspark_binlog.log_ranges import LogRange

COLUMNS = ("__lsn", "__op", "__committed_at")

_COMPARISONS: dict[type[Filter], Callable[[Any, Any], Any]] = {
    EqualTo: pc.equal,
    GreaterThan: pc.greater,
    GreaterThanOrEqual: pc.greater_equal,
    LessThan: pc.less,
    LessThanOrEqual: pc.less_equal,
}
_CAN_MATCH: dict[type[Filter], Callable[[int, int, int], bool]] = {
    EqualTo: lambda value, low, high: low <= value <= high,
    GreaterThan: lambda value, low, high: high > value,
    GreaterThanOrEqual: lambda value, low, high: high >= value,
    LessThan: lambda value, low, high: low < value,
    LessThanOrEqual: lambda value, low, high: low <= value,
}
"""Tests of a range: can a value between `low` and `high` meet the comparison?"""


@dataclass(frozen=True)
class Pushed:
    """Filters, all of which a row must meet."""

    filters: tuple[Filter, ...] = ()

    def allows(self, read: LogRange) -> bool:
        """Return False if no row of the range can meet the filters."""
        bounds = {"__lsn": read.lsns, "__committed_at": read.commit_times}
        return all(_allows(one, bounds.get(_column(one))) for one in self.filters)

    def __call__(self, batch: pa.RecordBatch) -> pa.RecordBatch:
        """Return the rows that meet the filters."""
        for one in self.filters:
            batch = batch.filter(_mask(one, batch.column(_column(one))))
        return batch


def is_supported(one: Filter) -> bool:
    """Return True if `Pushed` evaluates the filter exactly as Spark would."""
    known = type(one) in (*_COMPARISONS, In, IsNotNull)
    path: Sequence[str] = getattr(one, "attribute", ())
    return known and len(path) == 1 and path[0] in COLUMNS


def _column(one: Any) -> str:
    return str(one.attribute[0])


def _mask(one: Any, column: pa.Array) -> pa.Array:
    if isinstance(one, IsNotNull):
        return pc.is_valid(column)
    if isinstance(one, In):
        values = [value for value in one.value if value is not None]
        return pc.is_in(column, value_set=pa.array(values, column.type))
    return _COMPARISONS[type(one)](column, pa.scalar(one.value, column.type))


def _allows(one: Any, bounds: tuple[int, int] | None) -> bool:
    if bounds is None or isinstance(one, IsNotNull):
        return True
    if isinstance(one, In):
        return any(_CAN_MATCH[EqualTo](value, *bounds) for value in _numbers(one.value))
    return all(_CAN_MATCH[type(one)](value, *bounds) for value in _numbers([one.value]))


def _numbers(values: Sequence[Any]) -> list[int]:
    """Return LSNs, or times in microseconds since 1970."""
    return [_micros(v) if isinstance(v, datetime) else v for v in values if v is not None]


def _micros(time: datetime) -> int:
    """Return a time in microseconds since 1970; without an offset (TIMESTAMP_NTZ in the user's
    schema), it is in UTC."""
    instant = time if time.tzinfo is not None else time.replace(tzinfo=timezone.utc)
    since = instant - datetime(1970, 1, 1, tzinfo=timezone.utc)
    return (since.days * 86_400 + since.seconds) * 1_000_000 + since.microseconds
