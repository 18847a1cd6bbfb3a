"""Tables that stop during a batch because some of their changes cannot be applied.

The plan stays as it is. The states of tables that did not reach it are in the batch's record, which
takes precedence.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace

from pipeline.gold.changes.steps import BEGINNINGS, Evolve, Part, Rows
from pipeline.gold.changes.xa import Prepared, first_open
from pipeline.gold.schema.renames import TableStep
from pipeline.gold.table.damage import Damage
from pipeline.gold.table.state import GoldState, Refusal, TableState
from pipeline.schema_history import TableName


@dataclass(frozen=True, slots=True)
class StoppedTable:
    """One table's `done` parts and the first one `left`, which cannot be applied for `reason`.

    `refusal` or `damage` is set for the table that caused the stop, not for tables connected to it
    by a RENAME.
    """

    name: TableName
    done: tuple[Part, ...]
    left: Part
    reason: str
    refusal: Refusal | None = None
    damage: Damage | None = None

    @property
    def lsn(self) -> int:
        """LSN of the last transaction that was applied completely.

        A transaction that changed the definition counts only if it cannot contain rows too;
        applying the change again is a no-op.
        """
        if isinstance(self.left, Evolve):
            return self.left.item.lsn - 1
        last = self.done[-1].item if self.done and isinstance(self.done[-1], Evolve) else None
        whole = last is not None and last.statement is not None and last.kind != "create"
        return self.left.start[0] - (0 if whole else 1)

    @property
    def evolved(self) -> bool:
        """True if the table's definition was changed."""
        return any(isinstance(part, Evolve) for part in self.done)

    def complete(self, state: TableState) -> bool:
        """Return True if no earlier change is missing; `state` is the table's state in the plan."""
        for part in (self.left, *reversed(self.done)):
            if isinstance(part, Rows):
                return part.complete
            if part is not self.left and part.item.kind in BEGINNINGS:
                return True
        return state.complete_from


def stops(
    done: Sequence[TableStep], left: Sequence[TableStep], at_fault: TableName, why: Refusal | Damage
) -> list[StoppedTable]:
    """Return where the tables of a group stop; the first step of `left` is the one that failed."""
    found = {}
    refusal = why if isinstance(why, Refusal) else None
    damage = why if isinstance(why, Damage) else None
    reason = damage.held(at_fault) if damage else why.reason
    for step in left:
        if step.name not in found:
            own = tuple(other.part for other in done if other.name == step.name)
            found[step.name] = (
                StoppedTable(step.name, own, step.part, reason, refusal, damage)
                if step.name == at_fault
                else StoppedTable(step.name, own, step.part, f"it waits for {at_fault}: {reason}")
            )
    return list(found.values())


def state_after_stops(
    planned: GoldState,
    before: GoldState,
    stops: Iterable[StoppedTable],
    prepared: Iterable[Prepared],
) -> GoldState:
    """Return gold's state after a batch with these stops; `before` is the previous batch's."""
    tables = dict(planned.tables)
    for stop in stops:
        name = stop.name
        last = before.tables.get(name, TableState(name.schema, name.table)).recovered()
        found = _state_at_stop(stop, planned.tables[name], last)
        tables[name] = found.damaged(stop.damage) if stop.damage else found
        tables[name] = replace(tables[name], touched=True)
    reached = [table.to_lsn for table in tables.values()]
    return replace(planned, tables=tables, xa_from=first_open(prepared, reached, planned.cut_lsn))


def _state_at_stop(stop: StoppedTable, planned: TableState, last: TableState) -> TableState:
    held = replace(
        last, from_lsn=last.to_lsn, held=stop.reason, key=planned.key, refused=stop.refusal
    )
    if not stop.done:
        return held
    complete = stop.complete(planned)
    return replace(
        held,
        from_lsn=stop.lsn,
        to_lsn=stop.lsn,
        complete=complete,
        reason=None if complete else last.reason or stop.reason,
        version=planned.version if stop.evolved else last.version,
        seed=planned.seed if stop.evolved else last.seed,
        dropped=last.dropped and not stop.evolved,
        refresh=planned.refresh,
    )
