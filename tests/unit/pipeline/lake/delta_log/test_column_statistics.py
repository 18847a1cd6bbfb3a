"""A file's statistics never exclude a row that it has."""

from __future__ import annotations

import json
from datetime import date, datetime, timezone
from decimal import Decimal
from typing import Any

import pyarrow as pa
import pytest
from hypothesis import given, strategies as some

from pipeline.lake.delta_log.column_statistics import ColumnStatistics, statistics_text

WALL, INSTANT = pa.timestamp("us"), pa.timestamp("us", "UTC")
LONG = Decimal("1234567890123456789012345678.25")
DAY = "2024-01-01T00:00:"
END = datetime(9999, 12, 31, 23, 59, 59, 999_999)


def statistics(kind: pa.DataType, *groups: list[Any]) -> dict[str, Any]:
    """Return the statistics of one column, after a round trip through JSON."""
    schema = pa.schema([("v", kind)])
    found = ColumnStatistics(schema, ["v"])
    for group in groups:
        found.add(pa.table([pa.array(group, kind)], schema=schema))
    read = json.loads(statistics_text(9, found.values()), parse_float=Decimal)
    assert (read["numRecords"], read["tightBounds"]) == (9, True)
    return {
        "min": read["minValues"].get("v"),
        "max": read["maxValues"].get("v"),
        "nulls": read["nullCount"]["v"],
    }


@pytest.mark.parametrize(
    ("kind", "values", "least", "greatest"),
    [
        (pa.int64(), [3, -(2**63), 2**63 - 1], -(2**63), 2**63 - 1),
        (pa.float64(), [1.5, -0.5], Decimal("-0.5"), Decimal("1.5")),
        (pa.float64(), [float("inf")], None, None),
        (pa.date32(), [date(1, 1, 1), date(9999, 12, 31)], "0001-01-01", "9999-12-31"),
        (pa.string(), ["b", "A", "é"], "A", "é"),
        (pa.string(), ["x" * 64], "x" * 64, "x" * 64),
        (pa.string(), ["x" * 65], "x" * 64, "x" * 64 + "\x7f"),
        (pa.string(), ["x" * 64 + "é"], "x" * 64, "x" * 64 + "\U0010ffff"),
        (pa.string(), ["x" * 64 + "\U0010ffff"], "x" * 64, "x" * 64 + "\U0010ffff"),
        (pa.decimal128(20, 0), [Decimal(2**64 - 1), Decimal(0)], 0, 2**64 - 1),
        (pa.decimal128(12, 2), [Decimal("-6.39"), Decimal("2.00")], Decimal("-6.39"), Decimal(2)),
        (pa.decimal128(10, 6), [Decimal("0.000050")], Decimal("0.00005"), Decimal("0.00005")),
        (pa.decimal128(30, 2), [LONG], LONG, LONG),
        (pa.float64(), [1.0, float("nan")], None, None),
        (WALL, [datetime(2024, 1, 1, 0, 0, 0, 999_001)], f"{DAY}00.999", f"{DAY}01.000"),
        (WALL, [END], "9999-12-31T23:59:59.999", "9999-12-31T23:59:59.999"),
        (INSTANT, [datetime(2024, 1, 1, tzinfo=timezone.utc)], f"{DAY}00.000Z", f"{DAY}00.000Z"),
        (pa.binary(), [b"a"], None, None),
        (pa.list_(pa.string()), [["a"]], None, None),
        (pa.int32(), [None], None, None),
    ],
)
def test_each_type_has_its_form(
    kind: pa.DataType, values: list[Any], least: Any, greatest: Any
) -> None:
    found = statistics(kind, values, [None])
    assert found == {"min": least, "max": greatest, "nulls": 1 + values.count(None)}


@given(some.lists(some.text(alphabet="ax\x7e\x7f\x80é\U0010ffff", max_size=80), min_size=1))
def test_texts_are_within_their_statistics(texts: list[str]) -> None:
    found = statistics(pa.string(), texts)
    low, high = found["min"].encode(), found["max"].encode()
    assert all(low <= text.encode() <= high for text in texts)


NUMBERS = some.decimals(-(10**20), 10**20, allow_nan=False, allow_infinity=False, places=10)


@given(some.lists(NUMBERS, min_size=1))
def test_decimals_are_exact(numbers: list[Decimal]) -> None:
    found = statistics(pa.decimal128(38, 10), numbers)
    assert (found["min"], found["max"]) == (min(numbers), max(numbers))


@given(some.lists(some.datetimes(max_value=END.replace(microsecond=998_999)), min_size=1))
def test_times_are_within_their_statistics(times: list[datetime]) -> None:
    found = statistics(WALL, times)
    low, high = (datetime.fromisoformat(found[end]) for end in ("min", "max"))
    assert all(low <= time <= high for time in times)


def test_decimals_have_no_exponent() -> None:
    found = ColumnStatistics(pa.schema([("v", pa.decimal128(10, 8))]), ["v"])
    found.add(pa.table({"v": pa.array([Decimal("0.00000050")], pa.decimal128(10, 8))}))
    assert '"minValues":{"v":0.00000050}' in statistics_text(1, found.values())
