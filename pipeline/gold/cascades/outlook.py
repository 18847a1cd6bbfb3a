"""Input and result of the cascade computation, and children whose parents are not all in gold.

From the first change of a parent on that gold does not apply, the unlogged cascades to its children
are not known.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from pipeline.gold.cascades.cascades_table import CascadedChanges
from pipeline.gold.cascades.links import Items, Link, ancestors, begins_empty, descendants
from pipeline.gold.cascades.reader import Reader
from pipeline.gold.changes.holds import OpenFault, place_in_log
from pipeline.gold.changes.steps import model_after
from pipeline.gold.table.state import TableState
from pipeline.schema_history import TableName
from pipeline.settings import Settings

COPY_REMEDY = (
    "A copy that takes its place (CREATE TABLE … LIKE, INSERT … SELECT, RENAME TABLE) is"
    " replicated again."
)


@dataclass(frozen=True, slots=True)
class Outlook:
    """Input to plan a batch's cascades: the planned states, and the data read.

    `before`: the LSN of gold's current cut.
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
class Foreseen:
    """Cascades of a batch that ends at `cut_lsn`, possibly earlier than planned.

    `faults` hold children whose cascades cannot be derived; `changes` are those of the others.
    `again`: a child held for this reason can continue in the next batch.
    """

    cut_lsn: int
    faults: tuple[OpenFault, ...] = ()
    changes: CascadedChanges = field(default_factory=dict)
    again: bool = False


@dataclass(frozen=True, slots=True)
class Parents:
    """The tables that foreign keys refer to, in one batch."""

    settings: Settings
    outlook: Outlook
    reader: Reader
    links: Sequence[Link]

    def faults(self) -> Iterator[OpenFault]:
        """Yield faults of children whose parents' changes are not all applied."""
        for parent in sorted({link.parent for link in self.links}):
            children = sorted(descendants(self.links, parent) - {parent})
            yield from self._unapplied(parent, children)
            if not self._is_known(parent):
                yield from self._unknown(parent, children)

    def _unapplied(self, parent: TableName, children: Sequence[TableName]) -> Iterator[OpenFault]:
        """Yield faults where the parent's changes are needed but gold does not apply them."""
        stops, faulty = self._stops(parent), self._faulty(parent)
        if stops is None and not faulty:
            return
        # A row deleted in a table above it may also be deleted in the parent, and so on.
        above = ancestors(self.links).get(parent, set())
        known = self.reader.unlogged(sorted(map(str, {parent, *above})), faulty)
        why = f"changes of {parent} are not applied, and it refers to that table"
        for child in children:
            own = self.outlook.since(child)
            waits = [lsn for lsn in known if stops is not None and lsn > max(stops, own)][:1]
            lost = {lsn: faulty[lsn] for lsn in known if lsn in faulty and lsn > own}
            for lsn, marks_only in {**lost, **dict.fromkeys(waits, False)}.items():
                yield self.outlook.fault(lsn, child, why, marks_only=marks_only)

    def _unknown(self, parent: TableName, children: Sequence[TableName]) -> Iterator[OpenFault]:
        """Yield accepted faults: other tables may cascade to the parent's rows, and from there on.

        The children may not equal the source's, but the parent's own changes still cascade.
        """
        known = self.reader.all_unlogged()
        for child in children:
            for lsn in [lsn for lsn in known if lsn > self.outlook.since(child)][:1]:
                why = f"the foreign keys of {parent}, to which it refers, are not known"
                yield self.outlook.fault(lsn, child, why, marks_only=True)

    def _stops(self, parent: TableName) -> int | None:
        """Return the LSN after which a parent's changes are not applied; None if all are."""
        state = self.outlook.states.get(parent)
        if state is None or not self.settings.wanted(parent.schema, parent.table):
            return 0
        return state.to_lsn if state.to_lsn < self.outlook.cut_lsn else None

    def _faulty(self, parent: TableName) -> dict[int, bool]:
        """Return where a parent's changes cannot be decoded, and whether gold skips them."""
        items = self.outlook.items.get(parent, ())
        defined = {item.lsn for item in items if item.kind == "unsupported"}
        found: dict[int, bool] = {}
        for fault in self.outlook.faults:
            if fault.names(parent) and fault.lsn not in defined:
                found[fault.lsn] = fault.marks_only and found.get(fault.lsn, True)
        return found

    def _is_known(self, parent: TableName) -> bool:
        """Return True if DDL defines the parent's own foreign keys, or the parent is dropped."""
        state = self.outlook.states.get(parent)
        if state is None or not self.settings.wanted(parent.schema, parent.table):
            return False
        items = self.outlook.items.get(parent, ())
        known = model_after(item for item in items if item.lsn <= state.to_lsn)
        return state.dropped or known is not None
