"""What foreign keys did in transactions, to columns of the table of transactions.

See `decoder.transactions.counting` for where it comes from.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from decoder.columns.arrays import strings
from decoder.transactions.records import (
    COUNT_CASCADES,
    COUNT_POSITION,
    COUNT_ROW,
    COUNT_TRANSACTION,
    LOGGED,
    UNLOGGED,
    UNTOLD,
)
from decoder.transactions.row_spans import RowSpan, spans_by_place

Integers = npt.NDArray[np.int64]
KINDS = ("logged", "unlogged", "mixed")
_END = (1 << 63) - 1


def cascade_columns(transactions: int, counts: Integers | None) -> list[pa.Array]:
    """`cascades`, `cascades_logged` and `cascades_logged_rows` of so many transactions.

    `counts`: rows of `COUNT_…` in the order of the log; None where rows were not walked.
    """
    if counts is None:
        return [pa.nulls(transactions, pa.string()), *spans_by_place(transactions, {})]
    told = counts[(counts[:, COUNT_CASCADES] != UNTOLD) & (counts[:, COUNT_TRANSACTION] >= 0)]
    told = told[told[:, COUNT_TRANSACTION] < transactions]
    owners = told[:, COUNT_TRANSACTION]
    logged, unlogged = (
        np.bincount(owners[told[:, COUNT_CASCADES] == kind], minlength=transactions) > 0
        for kind in (LOGGED, UNLOGGED)
    )
    kinds = np.where(logged & unlogged, 2, unlogged).astype(np.int64)
    named = pa.array(kinds, mask=~(logged | unlogged))
    mixed = np.flatnonzero(logged & unlogged).tolist()
    spans = {index: _logged_spans(told[owners == index]) for index in mixed}
    return [strings(KINDS).take(named), *spans_by_place(transactions, spans)]


def _logged_spans(counts: Integers) -> list[RowSpan]:
    """Where what foreign keys do is logged, in one transaction that is mixed."""
    positions = counts[:, COUNT_POSITION]
    inside = bool((positions == positions[0]).all())
    starts = counts[:, COUNT_ROW if inside else COUNT_POSITION]
    ends = np.append(starts[1:], _END)
    logged = counts[:, COUNT_CASCADES] == LOGGED
    return [
        RowSpan(start, end, inside)
        for start, end in zip(starts[logged].tolist(), ends[logged].tolist(), strict=True)
    ]
