"""The columns of the table of transactions about changes made by foreign keys.

See `decoder.transactions.counting` for their source.
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
    UNDETERMINED,
    UNLOGGED,
)
from decoder.transactions.row_spans import RowSpan, spans_by_place

Integers = npt.NDArray[np.int64]
KINDS = ("logged", "unlogged", "mixed")
_END = (1 << 63) - 1


def cascade_columns(transactions: int, counts: Integers | None) -> list[pa.Array]:
    """Return `cascades`, `cascades_logged` and `cascades_logged_rows` for `transactions` rows.

    `counts`: rows of `COUNT_…` in the order of the log; None if rows were not walked.
    """
    if counts is None:
        return [pa.nulls(transactions, pa.string()), *spans_by_place(transactions, {})]
    has_rows = counts[:, COUNT_CASCADES] != UNDETERMINED
    known = counts[has_rows & (counts[:, COUNT_TRANSACTION] >= 0)]
    known = known[known[:, COUNT_TRANSACTION] < transactions]
    owners = known[:, COUNT_TRANSACTION]
    logged, unlogged = (
        np.bincount(owners[known[:, COUNT_CASCADES] == kind], minlength=transactions) > 0
        for kind in (LOGGED, UNLOGGED)
    )
    kinds = np.where(logged & unlogged, 2, unlogged).astype(np.int64)
    named = pa.array(kinds, mask=~(logged | unlogged))
    mixed = np.flatnonzero(logged & unlogged).tolist()
    spans = {index: _logged_spans(known[owners == index]) for index in mixed}
    return [strings(KINDS).take(named), *spans_by_place(transactions, spans)]


def _logged_spans(counts: Integers) -> list[RowSpan]:
    """Return the spans of a mixed transaction in which changes by foreign keys are logged."""
    positions = counts[:, COUNT_POSITION]
    inside = bool((positions == positions[0]).all())
    starts = counts[:, COUNT_ROW if inside else COUNT_POSITION]
    ends = np.append(starts[1:], _END)
    logged = counts[:, COUNT_CASCADES] == LOGGED
    return [
        RowSpan(start, end, inside)
        for start, end in zip(starts[logged].tolist(), ends[logged].tolist(), strict=True)
    ]
