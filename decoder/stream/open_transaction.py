"""Changes of the open transaction wait here until it is known to be whole and without a fault.

A transaction with more of them than memory should hold is *probed* instead: its rows are decoded
and dropped until its end, and if it has no fault, decoded once more and let through.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import numpy.typing as npt

from decoder.model.results import Changes
from decoder.rows.row_decoder import Flushed
from decoder.rows.spans import of_transaction, rows_before, rows_of, without
from decoder.transactions.records import SPAN_TRANSACTION

LIMIT = 1 << 26
"""Bytes of Arrow data that are held."""


class Holding:
    """What is held of transaction 0, the one that was open when the window before ended.

    `trusted`: nothing is held, since the segment was probed before.
    """

    def __init__(self, *, trusted: bool) -> None:
        self.probing = False
        self._trusted = trusted
        self._held: list[Flushed] = []

    def release(
        self, flushed: list[Flushed], faulty: npt.NDArray[np.bool_], current: int
    ) -> Iterator[Changes]:
        """Lets through what was held and what was flushed since, but for the open transaction's.

        `faulty` tells of each transaction whether it has a fault. `current` is the open one, which
        will be transaction 0 (−1: none).
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
