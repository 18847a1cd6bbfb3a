"""Spans: ranges of rows in a block or batch that come from the same event.

An int64 table with the columns `decoder.transactions.records.SPAN_*` and a row for each event, in
the order of the log; END counts rows from the start of the block or batch. The values that an
event's rows share are stored once: ten thousand rows of a statement are about a hundred spans.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from decoder.transactions.records import SPAN_END, SPAN_FIELDS, SPAN_FIRST_NUMBER, SPAN_TRANSACTION

Spans = npt.NDArray[np.int64]


def span_of(spans: Spans, row: int) -> npt.NDArray[np.int64]:
    """Return the span that contains a row."""
    span: npt.NDArray[np.int64] = spans[np.searchsorted(spans[:, SPAN_END], row, "right")]
    return span


def part(spans: Spans, first: int, end: int) -> Spans:
    """Return the spans of the rows in [`first`, `end`), renumbered from 0."""
    ends = spans[:, SPAN_END]
    begin, stop = np.searchsorted(ends, first, "right"), np.searchsorted(ends, end, "left") + 1
    taken = spans[begin:stop].copy()
    before = int(ends[begin - 1]) if begin else 0
    taken[0, SPAN_FIRST_NUMBER] += first - before
    taken[:, SPAN_END] -= first
    taken[-1, SPAN_END] = end - first
    return taken


def rows_of(spans: Spans, which: npt.NDArray[np.bool_]) -> npt.NDArray[np.bool_]:
    """Return the value in `which` of each row's span."""
    return np.repeat(which, np.diff(spans[:, SPAN_END], prepend=0))


def without(spans: Spans, dropped: npt.NDArray[np.bool_]) -> Spans:
    """Return the spans that are not `dropped`, renumbered as if the dropped rows did not exist."""
    sizes = np.diff(spans[:, SPAN_END], prepend=0)[~dropped]
    kept = spans[~dropped]
    kept[:, SPAN_END] = np.cumsum(sizes)
    return kept


def rows_before(spans: Spans, transaction: int) -> int:
    """Return the number of rows in transactions before this one (transactions are ascending)."""
    span = int(np.searchsorted(spans[:, SPAN_TRANSACTION], transaction))
    return int(spans[span - 1, SPAN_END]) if span else 0


def of_transaction(transaction: int, rows: int) -> Spans:
    """Return a span of `rows` rows with nothing but their transaction."""
    spans = np.zeros((1, SPAN_FIELDS), np.int64)
    spans[0, SPAN_END], spans[0, SPAN_TRANSACTION] = rows, transaction
    return spans
