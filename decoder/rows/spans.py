"""Spans: which rows of a block or batch come out of which event.

An int64 table with the columns `decoder.transactions.records.SPAN_*`, a row for each event in the
order of the log; its END counts rows from the first one of the block or batch. Ten thousand rows of
a statement are a hundred spans, so that what an event's rows have in common is kept, and asked,
once.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from decoder.transactions.records import SPAN_END, SPAN_FIELDS, SPAN_FIRST_NUMBER, SPAN_TRANSACTION

Spans = npt.NDArray[np.int64]


def span_of(spans: Spans, row: int) -> npt.NDArray[np.int64]:
    """The span that a row is in."""
    span: npt.NDArray[np.int64] = spans[np.searchsorted(spans[:, SPAN_END], row, "right")]
    return span


def part(spans: Spans, first: int, end: int) -> Spans:
    """The spans of the rows from `first` to before `end`, which become those from 0 on."""
    ends = spans[:, SPAN_END]
    begin, stop = np.searchsorted(ends, first, "right"), np.searchsorted(ends, end, "left") + 1
    taken = spans[begin:stop].copy()
    before = int(ends[begin - 1]) if begin else 0
    taken[0, SPAN_FIRST_NUMBER] += first - before
    taken[:, SPAN_END] -= first
    taken[-1, SPAN_END] = end - first
    return taken


def rows_of(spans: Spans, which: npt.NDArray[np.bool_]) -> npt.NDArray[np.bool_]:
    """For each row, what `which` says of its span."""
    return np.repeat(which, np.diff(spans[:, SPAN_END], prepend=0))


def without(spans: Spans, dropped: npt.NDArray[np.bool_]) -> Spans:
    """The spans but for some, counted as if the rows of those had never been."""
    sizes = np.diff(spans[:, SPAN_END], prepend=0)[~dropped]
    kept = spans[~dropped]
    kept[:, SPAN_END] = np.cumsum(sizes)
    return kept


def rows_before(spans: Spans, transaction: int) -> int:
    """How many rows are of transactions before that one (transactions only rise)."""
    span = int(np.searchsorted(spans[:, SPAN_TRANSACTION], transaction))
    return int(spans[span - 1, SPAN_END]) if span else 0


def of_transaction(transaction: int, rows: int) -> Spans:
    """Rows of which nothing is kept but their transaction."""
    spans = np.zeros((1, SPAN_FIELDS), np.int64)
    spans[0, SPAN_END], spans[0, SPAN_TRANSACTION] = rows, transaction
    return spans
