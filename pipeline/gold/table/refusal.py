"""Changes that cannot be applied to their table: it is held before the first of them.

This is only found while a batch is applied, after it was planned: the batch continues without the
table (`pipeline.gold.plan.stopped_tables`), and the next plan holds it.
"""

from __future__ import annotations

from dataclasses import dataclass

from pipeline.errors import BinlakeError


@dataclass(frozen=True, slots=True)
class Refusal:
    """The transaction at `lsn` has changes that cannot be applied to a table, for `reason`.

    `passable`: gold may skip them (`on_fault: mark`); the table then differs from the source's.
    """

    lsn: int
    reason: str
    passable: bool = True


class TableRefusedError(BinlakeError):
    """Raised if a part of a table's batch cannot be applied; nothing of the part is written."""

    def __init__(self, refusal: Refusal) -> None:
        super().__init__(refusal.reason)
        self.refusal = refusal
