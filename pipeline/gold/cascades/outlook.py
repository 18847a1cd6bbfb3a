"""What is asked about foreign keys when a batch is planned, and what the answer is."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field

from pipeline.catalog import TableName
from pipeline.gold.cascades.links import Items, begins_empty, descendants
from pipeline.gold.cascades.replay import Link
from pipeline.gold.cascades.store import Changes
from pipeline.gold.changes.blockers import Fault
from pipeline.gold.table.state import TableState
from pipeline.silver.decode.decode import OFFSET_BITS

WAY_BACK = (
    "A copy that takes its place (CREATE TABLE … LIKE, INSERT … SELECT, RENAME TABLE) is"
    " replicated again."
)


@dataclass(frozen=True, slots=True)
class Outlook:
    """What a batch is planned from: the states that it would bring, and what was looked up.

    `before`: the cut that gold is at.
    """

    states: Mapping[TableName, TableState]
    before: int
    cut_lsn: int
    items: Items
    faults: Sequence[Fault]
    files: Mapping[int, str]

    def since(self, child: TableName) -> int:
        """Behind which LSN changes of parents count for it: those of before were looked at."""
        state = self.states[child]
        return state.from_lsn if state.to_lsn > state.from_lsn else self.before

    def begins_empty(self, name: TableName) -> bool:
        """Whether gold's rows of before are none of the table's."""
        return begins_empty(self.states[name], self.items.get(name, ()))

    def fault(
        self, links: Iterable[Link], lsn: int, child: TableName, why: str, *, alone: bool = False
    ) -> Fault:
        """A fault of a child and, unless `alone`, of all tables whose rows change with its rows."""
        ordinal, position = lsn >> OFFSET_BITS, lsn & ((1 << OFFSET_BITS) - 1)
        file = self.files.get(ordinal, f"file number {ordinal}")
        names = {child} if alone else {child, *descendants(links, child)}
        sentence = (
            f"{file}, position {position}: what foreign keys do to rows of {child} is not in the"
            f" log and cannot be told: {why}. {WAY_BACK}"
        )
        return Fault(lsn, sentence, tuple(sorted(names)))


@dataclass(frozen=True, slots=True)
class Foreseen:
    """What foreign keys do in a batch that ends at `cut_lsn`, maybe before the one asked for.

    `faults` hold children of which that cannot be told; `changes` are those of the others. `again`:
    one that is held so goes on in the next batch.
    """

    cut_lsn: int
    faults: tuple[Fault, ...] = ()
    changes: Changes = field(default_factory=dict)
    again: bool = False
