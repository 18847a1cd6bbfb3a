"""The changes of the open transaction, held back until it has ended without a fault.

A transaction with too many changes for memory is *probed* instead: its rows are decoded and dropped
until it ends, and if it has no fault, decoded again and released.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import numpy.typing as npt

from decoder.model.results import Changes
from decoder.rows.blocks import of_transaction, rows_before, rows_of, without
from decoder.rows.row_decoder import Flushed
from decoder.transactions.records import SPAN_TRANSACTION

LIMIT = 1 << 26
"""Bytes of Arrow data that are held."""


class HeldChanges:
    """The held changes of transaction 0, the one that was open at the end of the last window.

    `trusted`: hold nothing, because the segment was already probed.
    """

    def __init__(self, *, trusted: bool) -> None:
        self.probing = False
        self._trusted = trusted
        self._held: list[Flushed] = []

    def release(
        self, flushed: list[Flushed], faulty: npt.NDArray[np.bool_], current: int
    ) -> Iterator[Changes]:
        """Yield the held and newly flushed changes, except those of the open transaction.

        `faulty`: whether each transaction has a fault; its changes are dropped. `current` is the
        open transaction (−1: none), which will be renumbered to 0.
        """
        flushed, self._held = self._held + flushed, []
        open_one = -1 if self._trusted else current
        for item in flushed:
            spans, changes = item.spans, item.changes
            dropped = faulty[spans[:, SPAN_TRANSACTION]]
            if self.probing:
                dropped = dropped | (spans[:, SPAN_TRANSACTION] == 0)
            if dropped.any():
                changes = changes.filter(~rows_of(spans, dropped))
                spans = without(spans, dropped)
            rows = changes.batch.num_rows
            split = rows_before(spans, open_one) if open_one >= 0 else rows
            if split:
                yield changes.slice(0, split)
            if split < rows:
                rest = changes.slice(split, rows)
                self._held.append(Flushed(rest, of_transaction(0, rows - split)))
        self.probing = self.probing and current == 0
        if sum(held.changes.batch.nbytes for held in self._held) > LIMIT:
            self._held = []
            self.probing = True
