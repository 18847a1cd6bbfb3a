"""Spans are equivalent to a table with a line per row."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from hypothesis import given, strategies as st

from decoder.rows import blocks as s
from decoder.rows.blocks import Spans
from decoder.transactions.records import (
    SPAN_END,
    SPAN_FIELDS,
    SPAN_FIRST_NUMBER,
    SPAN_POSITION,
    SPAN_TRANSACTION,
)


@dataclass(frozen=True)
class Row:
    """A row of a block: row `number` of the event at `position`."""

    position: int
    transaction: int
    number: int


def rows_in(spans: Spans) -> list[Row]:
    rows: list[Row] = []
    for span in spans.tolist():
        count = span[SPAN_END] - len(rows)
        assert count > 0
        rows += [
            Row(span[SPAN_POSITION], span[SPAN_TRANSACTION], span[SPAN_FIRST_NUMBER] + k)
            for k in range(count)
        ]
    return rows


@st.composite
def some_spans(draw: st.DrawFn) -> Spans:
    sizes = draw(st.lists(st.integers(1, 4), min_size=1, max_size=6))
    spans = np.zeros((len(sizes), SPAN_FIELDS), np.int64)
    spans[:, SPAN_END] = np.cumsum(sizes)
    spans[:, SPAN_POSITION] = 100 * np.arange(len(sizes))
    spans[:, SPAN_TRANSACTION] = np.sort(
        draw(st.lists(st.integers(0, 4), min_size=len(sizes), max_size=len(sizes)))
    )
    spans[:, SPAN_FIRST_NUMBER] = draw(st.integers(0, 9))
    return spans


@given(spans=some_spans(), data=st.data())
def test_span_of_finds_the_span_of_a_row(spans: Spans, data: st.DataObject) -> None:
    rows = rows_in(spans)
    row = data.draw(st.integers(0, len(rows) - 1))
    assert s.span_of(spans, row)[SPAN_POSITION] == rows[row].position


@given(spans=some_spans(), data=st.data())
def test_part_returns_the_spans_of_a_range(spans: Spans, data: st.DataObject) -> None:
    rows = rows_in(spans)
    first = data.draw(st.integers(0, len(rows) - 1))
    end = data.draw(st.integers(first + 1, len(rows)))
    before = spans.copy()
    assert rows_in(s.part(spans, first, end)) == rows[first:end]
    assert spans.tolist() == before.tolist()


@given(spans=some_spans(), data=st.data())
def test_without_drops_the_rows_of_spans(spans: Spans, data: st.DataObject) -> None:
    which = st.lists(st.booleans(), min_size=len(spans), max_size=len(spans))
    dropped = np.array(data.draw(which))
    kept = [
        row for row, gone in zip(rows_in(spans), s.rows_of(spans, dropped), strict=True) if not gone
    ]
    assert rows_in(s.without(spans, dropped)) == kept


@given(spans=some_spans(), transaction=st.integers(0, 5))
def test_rows_before_counts_the_rows_of_earlier_transactions(
    spans: Spans, transaction: int
) -> None:
    before = [row for row in rows_in(spans) if row.transaction < transaction]
    assert s.rows_before(spans, transaction) == len(before)


def test_of_transaction_returns_rows_of_one_transaction() -> None:
    assert [row.transaction for row in rows_in(s.of_transaction(7, 3))] == [7, 7, 7]
