"""Input and result of the derivation of a batch's foreign key cascades."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field

from pipeline.gold.cascades.cascades_table import CascadedChanges
from pipeline.gold.cascades.links import Items, begins_empty
from pipeline.gold.changes.holds import OpenFault, place_in_log
from pipeline.gold.table.state import TableState
from pipeline.schema_history import TableName

COPY_REMEDY = (
    "A copy that takes its place (CREATE TABLE … LIKE, INSERT … SELECT, RENAME TABLE) is"
    " replicated again."
)


@dataclass(frozen=True, slots=True)
class PlannedBatch:
    """The batch whose cascades are derived: the planned states of its tables, and the data read.

    `before`: the LSN of gold's current published snapshot.
    """

    states: Mapping[TableName, TableState]
    before: int
    cut_lsn: int
    items: Items
    faults: Sequence[OpenFault]
    files: Mapping[int, str]

    def since(self, child: TableName) -> int:
        """Return the LSN after which parents' changes count for a child; earlier ones are done."""
        state = self.states[child]
        return state.from_lsn if state.to_lsn > state.from_lsn else self.before

    def begins_empty(self, name: TableName) -> bool:
        """Return True if none of gold's current rows of the table remain."""
        return begins_empty(self.states[name], self.items.get(name, ()))

    def fault(
        self,
        lsn: int,
        child: TableName,
        why: str,
        *,
        below: Iterable[TableName] = (),
        marks_only: bool = False,
    ) -> OpenFault:
        """Return a fault of a child, and of the tables `below` it."""
        sentence = (
            f"{place_in_log(lsn, self.files)}: foreign key actions on rows of {child} are not in"
            f" the log and cannot be derived: {why}. {COPY_REMEDY}"
        )
        return OpenFault(lsn, sentence, tuple(sorted({child, *below})), marks_only)


@dataclass(frozen=True, slots=True)
class DerivedCascades:
    """Cascades of a batch that ends at `cut_lsn`, possibly earlier than planned.

    `faults` hold children whose cascades cannot be derived; `changes` are those of the others.
    `again`: a child held for this reason can continue in the next batch.
    """

    cut_lsn: int
    faults: tuple[OpenFault, ...] = ()
    changes: CascadedChanges = field(default_factory=dict)
    again: bool = False
