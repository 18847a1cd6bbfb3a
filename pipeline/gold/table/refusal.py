"""Changes that cannot be put into their table: it is held before the first of them.

What they say is known only when they are applied, after the batch is planned: the plan goes on
without the table (see `pipeline.gold.plan.stopped_tables`), and the next one holds it.
"""

from __future__ import annotations

from dataclasses import dataclass

from pipeline.errors import BinlakeError


@dataclass(frozen=True, slots=True)
class Refusal:
    """The transaction at `lsn` has changes that cannot be put into a table, for `reason`.

    `passable`: gold may go on without them, and then does not equal the source's table.
    """

    lsn: int
    reason: str
    passable: bool = True


class TableRefusedError(BinlakeError):
    """A part of a table's batch is not applied, and nothing of it is."""

    def __init__(self, refusal: Refusal) -> None:
        super().__init__(refusal.reason)
        self.refusal = refusal
