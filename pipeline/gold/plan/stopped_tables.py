"""Tables that a batch leaves behind, since some of their changes cannot be applied.

A plan stays what it is. Where the tables are that did not come to where it wants them is in the
batch's record, and counts instead.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace

from pipeline.catalog import TableName
from pipeline.gold.changes.steps import BEGINNINGS, Evolve, Part, Rows
from pipeline.gold.changes.xa import Prepared, first_open
from pipeline.gold.schema.renames import Step
from pipeline.gold.table.damage import Damage
from pipeline.gold.table.refusal import Refusal
from pipeline.gold.table.state import GoldState, TableState


@dataclass(frozen=True, slots=True)
class Stop:
    """One table's parts that are `done`, and the one that is not, `left`, for `reason`.

    `refusal` or `damage` says so of the table itself; a table that a RENAME ties to that one has
    neither.
    """

    name: TableName
    done: tuple[Part, ...]
    left: Part
    reason: str
    refusal: Refusal | None = None
    damage: Damage | None = None

    @property
    def lsn(self) -> int:
        """The last transaction of which all is done.

        One that changed the definition counts as done only where it cannot hold rows too: to go
        over that change once more is nothing.
        """
        if isinstance(self.left, Evolve):
            return self.left.item.lsn - 1
        last = self.done[-1].item if self.done and isinstance(self.done[-1], Evolve) else None
        whole = last is not None and last.statement is not None and last.kind != "create"
        return self.left.start[0] - (0 if whole else 1)

    @property
    def evolved(self) -> bool:
        """Whether the table was changed."""
        return any(isinstance(part, Evolve) for part in self.done)

    def complete(self, state: TableState) -> bool:
        """Whether no change of before is missing; `state`: the table's in the plan."""
        for part in (self.left, *reversed(self.done)):
            if isinstance(part, Rows):
                return part.complete
            if part is not self.left and part.item.kind in BEGINNINGS:
                return True
        return state.complete_from


def stops(
    done: Sequence[Step], left: Sequence[Step], at_fault: TableName, why: Refusal | Damage
) -> list[Stop]:
    """Where the tables of one group stop; the first step of `left` is the one that failed."""
    found = {}
    refusal = why if isinstance(why, Refusal) else None
    damage = why if isinstance(why, Damage) else None
    reason = damage.held(at_fault) if damage else why.reason
    for step in left:
        if step.name not in found:
            own = tuple(other.part for other in done if other.name == step.name)
            found[step.name] = (
                Stop(step.name, own, step.part, reason, refusal, damage)
                if step.name == at_fault
                else Stop(step.name, own, step.part, f"it waits for {at_fault}: {reason}")
            )
    return list(found.values())


def stand(
    planned: GoldState, before: GoldState, stops: Iterable[Stop], prepared: Iterable[Prepared]
) -> GoldState:
    """The state of gold after a batch with these stops; `before` is that after the last one."""
    tables = dict(planned.tables)
    for stop in stops:
        name = stop.name
        last = before.tables.get(name, TableState(name.schema, name.table))
        tables[name] = _standing(stop, planned.tables[name], last)
    marks = [table.to_lsn for table in tables.values()]
    return replace(planned, tables=tables, xa_from=first_open(prepared, marks, planned.cut_lsn))


def _standing(stop: Stop, planned: TableState, last: TableState) -> TableState:
    found = _behind(stop, planned, last)
    return replace(found.damaged(stop.damage), touched=True) if stop.damage else found


def _behind(stop: Stop, planned: TableState, last: TableState) -> TableState:
    last = last.recovered()
    if not stop.done:
        return replace(
            last,
            from_lsn=last.to_lsn,
            held=stop.reason,
            key=planned.key,
            touched=True,
            refused=stop.refusal,
        )
    complete = stop.complete(planned)
    return replace(
        last,
        from_lsn=stop.lsn,
        to_lsn=stop.lsn,
        complete=complete,
        held=stop.reason,
        reason=None if complete else last.reason or stop.reason,
        version=planned.version if stop.evolved else last.version,
        seed=planned.seed if stop.evolved else last.seed,
        dropped=last.dropped and not stop.evolved,
        key=planned.key,
        touched=True,
        refused=stop.refusal,
        refresh=planned.refresh,
    )
