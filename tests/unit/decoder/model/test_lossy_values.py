"""Which values were replaced is still told of the right rows after rows were left out."""

from __future__ import annotations

import numpy as np
from hypothesis import given, strategies as st

from decoder.model.lossy_values import LossyValues

MARKED = st.lists(st.tuples(st.booleans(), st.booleans()), max_size=40)
"""For each row, whether it is lossy, and whether it is kept."""


def lossy_values(marks: list[bool]) -> LossyValues:
    return LossyValues("c", np.flatnonzero(np.array(marks, bool)))


@given(MARKED)
def test_filtering_keeps_the_marks_of_the_rows_that_stay(rows: list[tuple[bool, bool]]) -> None:
    kept = np.array([keep for _, keep in rows], bool)
    left = lossy_values([mark for mark, _ in rows]).filter(kept)
    assert left.column == "c"
    assert left.rows.tolist() == [
        i for i, mark in enumerate([mark for mark, keep in rows if keep]) if mark
    ]


@given(MARKED, st.integers(0, 40), st.integers(0, 40))
def test_slicing_keeps_the_marks_of_the_rows_inside(
    rows: list[tuple[bool, bool]], start: int, length: int
) -> None:
    marks = [mark for mark, _ in rows]
    inside = marks[start : start + length]
    left = lossy_values(marks).slice(start, start + length)
    assert left.rows.tolist() == [i for i, mark in enumerate(inside) if mark]
