"""GTID sets as text and as intervals."""

from __future__ import annotations

import pytest
from hypothesis import given, strategies as some

from pipeline.gold.gtids import GtidSet

A = "3e11fa47-71ca-11e1-9e33-c80aa9429562"
B = "4e11fa47-71ca-11e1-9e33-c80aa9429562"


@pytest.mark.parametrize(
    "text",
    [
        "",
        f"{A}:1",
        f"{A}:1-5",
        f"{A}:1-5:7:9-11,{B}:1",
        f"{A}:1-5:batch:1-2:web:7",
        f"{A}:web:7",
        "0-1-100,1-2-5",
    ],
)
def test_a_set_is_read_and_written_alike(text: str) -> None:
    assert str(GtidSet.parse(text)) == text


def test_intervals_that_touch_or_overlap_are_put_together() -> None:
    assert str(GtidSet.parse(f"{A}:6-7:1-5:9,\n{B}:1:1-3:2-4")) == f"{A}:1-7:9,{B}:1-4"


def test_added_intervals_join_those_that_are_there() -> None:
    found = GtidSet.parse(f"{A}:1-5,{A}:tag:1")
    added = found.with_intervals([(A, 6, 9), (f"{A}:tag", 3, 3), (B, 1, 1)])
    assert str(added) == f"{A}:1-9:tag:1:3,{B}:1"


def test_a_domain_keeps_its_last_gtid() -> None:
    assert str(GtidSet.parse("0-1-100").with_domains(["0-2-101", "3-1-1"])) == "0-2-101,3-1-1"


@given(some.lists(some.integers(1, 40), max_size=40), some.lists(some.integers(1, 40), max_size=40))
def test_a_union_holds_exactly_the_numbers_of_both(one: list[int], other: list[int]) -> None:
    first = GtidSet().with_intervals((A, n, n) for n in one)
    both = GtidSet.parse(str(first)).with_intervals((A, n, n) for n in other)
    numbers = [n for a, b in both.intervals.get(A, ()) for n in range(a, b + 1)]
    assert numbers == sorted({*one, *other})
