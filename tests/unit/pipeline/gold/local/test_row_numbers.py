"""Rows have the same number if, and only if, they are equal."""

from __future__ import annotations

from decimal import Decimal
from typing import Any

import pyarrow as pa
from hypothesis import given, strategies as some

from pipeline.gold.local.row_numbers import row_numbers

SCHEMA = pa.schema(
    [
        pa.field("n", pa.int8()),
        pa.field("d", pa.decimal128(3, 1)),
        pa.field("t", pa.string()),
        pa.field("f", pa.float64()),
        pa.field("s", pa.list_(pa.string())),
    ]
)
ROWS = some.lists(
    some.tuples(
        some.sampled_from([None, 0, 1]),
        some.sampled_from([None, "0.5", "1.5"]),
        some.sampled_from([None, "", "a", "A"]),
        some.sampled_from([None, 0.0, -0.0, 1.0]),
        some.sampled_from([None, [], ["a"], ["a", None], ["None"]]),
    )
)


def table(rows: list[Any], chunks: int) -> pa.Table:
    """Return the rows in that many chunks of each column."""
    columns: list[list[Any]] = [list(column) for column in zip(*rows, strict=True)]
    columns = columns or [[] for _ in SCHEMA]
    columns[1] = [None if text is None else Decimal(text) for text in columns[1]]
    arrays = [pa.array(c, field.type) for c, field in zip(columns, SCHEMA, strict=True)]
    whole = pa.table(arrays, schema=SCHEMA)
    size = max(1, len(rows) // chunks)
    return pa.concat_tables([whole.slice(n, size) for n in range(0, max(1, len(rows)), size)])


@given(some.lists(ROWS, min_size=1, max_size=3), some.integers(1, 3))
def test_numbers_are_equal_for_equal_rows_of_all_tables(parts: list[Any], chunks: int) -> None:
    numbers = row_numbers([table(rows, chunks) for rows in parts])
    assert [len(found) for found in numbers] == [len(rows) for rows in parts]
    rows = [repr(row).replace("-0.0", "0.0") for part in parts for row in part]
    flat = [int(number) for found in numbers for number in found]
    assert len({*zip(rows, flat, strict=True)}) == len(set(rows)) == len(set(flat))
    assert all(0 <= number < max(1, len(flat)) for number in flat)


def test_columns_of_many_values_do_not_overflow() -> None:
    many = pa.table({f"c{n}": range(5000) for n in range(12)})
    (numbers,) = row_numbers([many])
    assert len(set(numbers.tolist())) == 5000
