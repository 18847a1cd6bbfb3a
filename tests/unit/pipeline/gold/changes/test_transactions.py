"""Reads of silver's transactions."""

from __future__ import annotations

from collections.abc import Collection

import pyarrow as pa
import pytest

from pipeline.gold.changes.transactions import have_rows_of
from pipeline.silver.decode.silver_tables import TRANSACTIONS

ROWS = [[("s.a", 1)], None, [("s.b", 2), ("s.a", 3)], [], [("s.c", 1)]]


@pytest.mark.parametrize(
    ("names", "found"),
    [({"s.a"}, [0, 2]), ({"s.b", "s.c"}, [2, 4]), ({"s.d"}, []), ((), [])],
)
def test_transactions_with_rows_of_given_tables_are_found(
    names: Collection[str], found: list[int]
) -> None:
    kind = TRANSACTIONS.field("rows").type
    chunks = [pa.array(rows, kind) for rows in (ROWS[:3], ROWS[3:])]
    rows = pa.table({"rows": pa.chunked_array(chunks)})
    assert [n for n, has in enumerate(have_rows_of(rows, names).to_pylist()) if has] == found
    assert have_rows_of(rows.slice(0, 0), names).to_pylist() == []
