"""The rows of partitions, as a condition on gold's columns."""

from __future__ import annotations

from datetime import date
from decimal import Decimal
from functools import reduce

from pyspark.sql import Column, functions as sf

from pipeline.catalog.partitions import PartitionRows
from pipeline.gold.names import quoted

_DAYS_TO_1970 = 719528
"""MySQL's TO_DAYS('1970-01-01')."""
_LONG = 1 << 63


def held_in(rows: PartitionRows) -> Column:
    """Whether a row of gold is one of these; never NULL but for rows that are not."""
    column = sf.col(quoted(rows.column))
    value = column
    if rows.function == "YEAR":
        value = sf.year(column)
    elif rows.function == "TO_DAYS":
        value = sf.datediff(column, sf.lit(date(1970, 1, 1))) + _DAYS_TO_1970
    within = [_between(value, low, high) for low, high in rows.ranges]
    if rows.null:
        within.append(column.isNull())
    return reduce(Column.__or__, within)


def _between(value: Column, low: int | None, high: int | None) -> Column:
    """From `low` on, and below `high`, where they are given."""
    found = value.isNotNull()
    if low is not None:
        found &= value >= _number(low)
    if high is not None:
        found &= value < _number(high)
    return found


def _number(number: int) -> Column:
    return sf.lit(number if -_LONG <= number < _LONG else Decimal(number))
