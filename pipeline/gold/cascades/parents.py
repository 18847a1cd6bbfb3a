"""Children whose parents are not all in gold.

From the first change of a parent on that gold does not apply, the unlogged cascades to its children
are not known.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from pipeline.gold.cascades.links import Link, ancestors, descendants
from pipeline.gold.cascades.planned_batch import PlannedBatch
from pipeline.gold.cascades.reader import Reader
from pipeline.gold.changes.holds import OpenFault
from pipeline.gold.changes.steps import model_after
from pipeline.schema_history import TableName
from pipeline.settings import Settings


@dataclass(frozen=True, slots=True)
class Parents:
    """The tables that foreign keys refer to, in one batch."""

    settings: Settings
    batch: PlannedBatch
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
            own = self.batch.since(child)
            waits = [lsn for lsn in known if stops is not None and lsn > max(stops, own)][:1]
            lost = {lsn: faulty[lsn] for lsn in known if lsn in faulty and lsn > own}
            for lsn, marks_only in {**lost, **dict.fromkeys(waits, False)}.items():
                yield self.batch.fault(lsn, child, why, marks_only=marks_only)

    def _unknown(self, parent: TableName, children: Sequence[TableName]) -> Iterator[OpenFault]:
        """Yield accepted faults: other tables may cascade to the parent's rows, and from there on.

        The children may not equal the source's, but the parent's own changes still cascade.
        """
        known = self.reader.all_unlogged()
        for child in children:
            for lsn in [lsn for lsn in known if lsn > self.batch.since(child)][:1]:
                why = f"the foreign keys of {parent}, to which it refers, are not known"
                yield self.batch.fault(lsn, child, why, marks_only=True)

    def _stops(self, parent: TableName) -> int | None:
        """Return the LSN after which a parent's changes are not applied; None if all are."""
        state = self.batch.states.get(parent)
        if state is None or not self.settings.wanted(parent.schema, parent.table):
            return 0
        return state.to_lsn if state.to_lsn < self.batch.cut_lsn else None

    def _faulty(self, parent: TableName) -> dict[int, bool]:
        """Return where a parent's changes cannot be decoded, and whether gold skips them."""
        items = self.batch.items.get(parent, ())
        defined = {item.lsn for item in items if item.kind == "unsupported"}
        found: dict[int, bool] = {}
        for fault in self.batch.faults:
            if fault.names(parent) and fault.lsn not in defined:
                found[fault.lsn] = fault.marks_only and found.get(fault.lsn, True)
        return found

    def _is_known(self, parent: TableName) -> bool:
        """Return True if DDL defines the parent's own foreign keys, or the parent is dropped."""
        state = self.batch.states.get(parent)
        if state is None or not self.settings.wanted(parent.schema, parent.table):
            return False
        items = self.batch.items.get(parent, ())
        known = model_after(item for item in items if item.lsn <= state.to_lsn)
        return state.dropped or known is not None
