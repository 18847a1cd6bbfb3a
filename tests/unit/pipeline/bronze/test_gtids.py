"""Sets of GTIDs against sets of numbers."""

from __future__ import annotations

import pytest
from hypothesis import given, strategies as st

from pipeline.bronze.gtids import missing, union


@pytest.mark.parametrize(
    ("wanted", "had", "left"),
    [
        ("", [""], ""),
        ("u:1-5", ["u:1-5"], ""),
        ("u:1-5", ["u:1-2", "u:4"], "u:3:5"),
        ("u:1-5:9", ["v:1-9"], "u:1-5:9"),
        ("u:1-3,\nv:7", ["u:2-8"], "u:1,v:7"),
        ("u:1-3:tag:1-2", ["u:1-3:other:1"], "u:tag:1-2"),
        ("u:tag:1-2", ["u:tag:2"], "u:tag:1"),
    ],
)
def test_what_is_in_none_of_the_others(wanted: str, had: list[str], left: str) -> None:
    assert missing(wanted, *had) == left


@given(*[st.sets(st.integers(1, 30))] * 3)
def test_it_is_subtraction_of_sets(wanted: set[int], one: set[int], other: set[int]) -> None:
    def printed(numbers: set[int]) -> str:
        return ":".join(["u", *map(str, sorted(numbers))]) if numbers else ""

    left = missing(printed(wanted), printed(one), printed(other))
    found = set()
    for field in left.split(":")[1:]:
        first, _, last = field.partition("-")
        found |= set(range(int(first), int(last or first) + 1))
    assert found == wanted - one - other


@pytest.mark.parametrize(
    ("sets", "together"),
    [
        ([], ""),
        (["", ""], ""),
        (["u:1-3", "u:4-5:9"], "u:1-5:9"),
        (["u:1-9", "u:3"], "u:1-9"),
        (["u:1:tag:1", "u:2:tag:3"], "u:1-2,u:tag:1:3"),
    ],
)
def test_what_is_in_any_of_them(sets: list[str], together: str) -> None:
    assert union(*sets) == together
