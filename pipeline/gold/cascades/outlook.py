"""Input and result of the cascade computation for a planned batch."""

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

COPY_REMEDY = (
    "A copy that takes its place (CREATE TABLE … LIKE, INSERT … SELECT, RENAME TABLE) is"
    " replicated again."
)


@dataclass(frozen=True, slots=True)
class Outlook:
    """Input to plan a batch's cascades: the planned states, and what was read.

    `before`: the LSN of gold's current cut.
    """

    states: Mapping[TableName, TableState]
    before: int
    cut_lsn: int
    items: Items
    faults: Sequence[Fault]
    files: Mapping[int, str]

    def since(self, child: TableName) -> int:
        """Return the LSN after which parents' changes count for a child; earlier ones are done."""
        state = self.states[child]
        return state.from_lsn if state.to_lsn > state.from_lsn else self.before

    def begins_empty(self, name: TableName) -> bool:
        """Return True if none of gold's current rows of the table remain."""
        return begins_empty(self.states[name], self.items.get(name, ()))

    def fault(
        self, links: Iterable[Link], lsn: int, child: TableName, why: str, *, alone: bool = False
    ) -> Fault:
        """Return a fault of a child and, unless `alone`, of all tables that cascade from it."""
        ordinal, position = lsn >> OFFSET_BITS, lsn & ((1 << OFFSET_BITS) - 1)
        file = self.files.get(ordinal, f"file number {ordinal}")
        names = {child} if alone else {child, *descendants(links, child)}
        sentence = (
            f"{file}, position {position}: foreign key actions on rows of {child} are not in the"
            f" log and cannot be derived: {why}. {COPY_REMEDY}"
        )
        return Fault(lsn, sentence, tuple(sorted(names)))


@dataclass(frozen=True, slots=True)
class Foreseen:
    """Cascades of a batch that ends at `cut_lsn`, possibly earlier than planned.

    `faults` hold children whose cascades cannot be derived; `changes` are those of the others.
    `again`: a child held for this reason can continue in the next batch.
    """

    cut_lsn: int
    faults: tuple[Fault, ...] = ()
    changes: Changes = field(default_factory=dict)
    again: bool = False
