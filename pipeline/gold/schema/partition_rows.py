"""Rows of partitions, as an SQL condition on gold's columns."""

from __future__ import annotations

from pipeline.catalog.ddl.partitions import PartitionRows
from pipeline.lake.sql_text import quoted

_DAYS_TO_1970 = 719528
"""MySQL's TO_DAYS('1970-01-01')."""


def held_in(rows: PartitionRows) -> str:
    """Return an SQL condition for rows in these partitions; it is NULL only for rows outside."""
    column = quoted(rows.column)
    value = column
    if rows.function == "YEAR":
        value = f"year({column})"
    elif rows.function == "TO_DAYS":
        value = f"datediff({column}, DATE'1970-01-01') + {_DAYS_TO_1970}"
    within = [_between(value, low, high) for low, high in rows.ranges]
    if rows.null:
        within.append(f"{column} IS NULL")
    return " OR ".join(within)


def _between(value: str, low: int | None, high: int | None) -> str:
    """Return an SQL condition: `low` (inclusive) to `high` (exclusive), if they are given."""
    found = f"({value}) IS NOT NULL"
    if low is not None:
        found += f" AND {value} >= {low}"
    if high is not None:
        found += f" AND {value} < {high}"
    return f"({found})"
