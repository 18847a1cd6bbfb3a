"""A part's bounds as a condition on silver's rows."""

from __future__ import annotations

import pyarrow as pa
from hypothesis import given, strategies as st

from pipeline.gold.changes.changes import between
from pipeline.gold.changes.steps import Rows
from tests.support.silver.made_silver import definition

PLACE = st.tuples(st.integers(1, 4), st.integers(0, 4))
LOGGED = st.tuples(st.integers(1, 4), st.integers(1, 4))


@given(PLACE, PLACE, st.lists(LOGGED))
def test_a_part_includes_its_start_and_excludes_its_stop(
    start: tuple[int, int], stop: tuple[int, int], places: list[tuple[int, int]]
) -> None:
    part = Rows(definition(), 1, start, stop, ("id",))
    lsns, positions = ([place[n] for place in places] for n in (0, 1))
    kind = pa.int64()
    logged = pa.table({"__lsn": pa.array(lsns, kind), "__pos": pa.array(positions, kind)})
    found = logged.filter(between(part).expression)
    inside = [place for place in places if start <= place < stop]
    assert [(row["__lsn"], row["__pos"]) for row in found.to_pylist()] == inside
