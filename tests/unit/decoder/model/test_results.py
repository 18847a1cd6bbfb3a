"""Lossy values stay with their rows when a batch is filtered or sliced."""

from __future__ import annotations

import numpy as np
from hypothesis import given, strategies as st

from decoder.model.results import LossyValues

ROWS = st.lists(st.tuples(st.booleans(), st.booleans()), max_size=40)
"""For each row: is it lossy, is it kept."""


def lossy_values(lossy: list[bool]) -> LossyValues:
    return LossyValues("c", np.flatnonzero(np.array(lossy, bool)))


@given(ROWS)
def test_filter_renumbers_the_lossy_rows_it_keeps(rows: list[tuple[bool, bool]]) -> None:
    kept = np.array([keep for _, keep in rows], bool)
    left = lossy_values([is_lossy for is_lossy, _ in rows]).filter(kept)
    assert left.column == "c"
    assert left.rows.tolist() == [
        i for i, is_lossy in enumerate([is_lossy for is_lossy, keep in rows if keep]) if is_lossy
    ]


@given(ROWS, st.integers(0, 40), st.integers(0, 40))
def test_slice_renumbers_the_lossy_rows_inside(
    rows: list[tuple[bool, bool]], start: int, length: int
) -> None:
    lossy = [is_lossy for is_lossy, _ in rows]
    inside = lossy[start : start + length]
    left = lossy_values(lossy).slice(start, start + length)
    assert left.rows.tolist() == [i for i, is_lossy in enumerate(inside) if is_lossy]
