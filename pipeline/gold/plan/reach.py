"""Reach of each table in a batch: the last transaction that it can apply.

A table that takes over another's rows in a RENAME passes it together with that table or not at all.
Shorten all reaches until this holds, then apply them together in log order. A held table may still
restart from a later point at which it has none of its earlier rows, even if other tables then never
get those.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

from pipeline.gold.changes.holds import Hold
from pipeline.gold.changes.steps import MOVES, is_whole
from pipeline.gold.table.state import NO_LSN, Refusal, TableState
from pipeline.schema_history import TableName
from pipeline.schema_history.alter.items import Position, TimelineItem
from pipeline.settings import Settings
from pipeline.settings.settings import key_given

DROPPED = "The source dropped it."
LAST = 2**63 - 1
"""A position after all others in a transaction."""
NOT_FROM_START = (
    "Its CREATE TABLE is not in the log: rows from before the first binlog file are missing."
)


@dataclass(frozen=True, slots=True)
class Reach:
    """One table's reach, from `before` to the end of the transaction at `to_lsn`.

    It starts after `from_lsn`, which is later than `before` if the table has no rows then. `held`:
    why it ends before `cut_lsn`. `restart`: the last LSN, possibly after its end, at which the
    table has none of its earlier rows, even if another table gets them; `fresh`: it starts at such
    an LSN.
    """

    before: TableState
    items: Sequence[TimelineItem]
    holds: Sequence[Hold]
    cut_lsn: int
    restart: int
    from_lsn: int = NO_LSN
    to_lsn: int = NO_LSN
    held: str | None = None
    fresh: bool = False

    def starting_at(self, start: int) -> Reach:
        """Return the reach from `start`, or from `before` if that is there, to the next hold."""
        stop = next((h for h in self.holds if start < h.lsn <= self.cut_lsn and not h.marked), None)
        fresh = start != self.before.to_lsn or self._seeded_where_it_is
        return replace(
            self,
            from_lsn=start - fresh,
            to_lsn=stop.lsn - 1 if stop else max(self.cut_lsn, self.before.to_lsn),
            held=stop.reason if stop else None,
            fresh=fresh,
        )

    @property
    def _seeded_where_it_is(self) -> bool:
        """True if the table gets a seed's rows right after its current position."""
        here = self.before.to_lsn
        seeds = [item.seed.id for item in self.items if item.seed and item.lsn == here]
        held = any(hold.lsn == here and not hold.marked for hold in self.holds)
        return bool(seeds) and seeds[-1] != self.before.seed and not held

    def or_restarted(self) -> Reach:
        """Return the reach of a held table: restarted at `restart` if that is later."""
        return self.starting_at(self.restart) if self.restart > self.to_lsn else self

    def keeps_rows(self, lsn: int) -> bool:
        """Return True if the table still has its earlier rows at that transaction."""
        return self.from_lsn < lsn - self.fresh

    @property
    def passing(self) -> list[TimelineItem]:
        """The items within it."""
        return [item for item in self.items if self.from_lsn < item.lsn <= self.to_lsn]

    @property
    def marked(self) -> list[Hold]:
        """The marked holds within it, including those between a seed and its item."""
        seeds = (item.seed.lsn for item in self.passing if item.seed)
        start = min([max(self.before.to_lsn, self.from_lsn), *seeds])
        return [h for h in self.holds if h.marked and start < h.lsn <= self.to_lsn]


def reach_of(
    before: TableState,
    cut_lsn: int,
    items: Sequence[TimelineItem],
    holds: Sequence[Hold],
    settings: Settings,
    given: Collection[tuple[Position, TableName]] = (),
) -> Reach:
    """Return the last transaction that a table can reach on its own.

    `given`: RENAMEs that move a table's rows away.
    """
    held = {hold.lsn for hold in holds if not hold.marked}
    ends = [lsn for lsn in _without_rows(items, held, settings, ()) if lsn not in held]
    restart = max((lsn for lsn in ends if lsn <= cut_lsn), default=NO_LSN)
    found = Reach(before, items, holds, cut_lsn, restart)
    found = found.starting_at(_start(before, cut_lsn, items, holds, settings, given))
    return found.or_restarted() if found.held else found


def _start(
    before: TableState,
    cut_lsn: int,
    items: Sequence[TimelineItem],
    holds: Sequence[Hold],
    settings: Settings,
    given: Collection[tuple[Position, TableName]],
) -> int:
    """Return the LSN to start at: the table's current one, or a later one where it has no rows.

    Not after a RENAME that needs the earlier rows, nor at one that moves them away.
    """
    held = {hold.lsn for hold in holds if not hold.marked}
    moves = [i.lsn - (i.kind == "moved") for i in items if i.kind in MOVES]
    last = min([cut_lsn, *(lsn for lsn in moves if lsn > before.to_lsn)])
    empty = (lsn for lsn in _without_rows(items, held, settings, given) if lsn <= last)
    return max(before.to_lsn, *(lsn for lsn in empty if lsn not in held), NO_LSN)


def _without_rows(
    items: Sequence[TimelineItem],
    held: Collection[int],
    settings: Settings,
    given: Collection[tuple[Position, TableName]],
) -> Iterator[int]:
    """Yield the LSNs at which the table has none of its earlier rows.

    At its CREATE; where it gets a seed's rows; at a DROP that leaves no rows in gold, by setting or
    because gold never had the dropped table; and where a RENAME gives it another table's
    rows while its own go nowhere.
    """
    exists, refused = False, False
    for item in items:
        if item.kind in ("create", "seeded") or not exists:
            refused = item.lsn in held
        exists = item.kind not in ("drop", "moved")
        dropped = item.kind == "drop" and (settings.on_drop == "drop" or refused)
        replaced = item.kind == "renamed" and (item.position, item.name) not in given
        if item.kind in ("create", "seeded") or dropped or replaced:
            yield item.lsn


def moved_away(items: Iterable[TimelineItem]) -> set[tuple[Position, TableName]]:
    """Return where RENAMEs give a table's rows to another table."""
    return {
        (item.position, item.other)
        for item in items
        if item.kind == "renamed" and item.other is not None
    }


def align_renames(reaches: Mapping[TableName, Reach]) -> dict[TableName, Reach]:
    """Shorten reaches until both tables of each RENAME pass it, or neither does."""
    found = dict(reaches)
    moves = sorted(_moves(reaches.values()))
    waiting = True
    while waiting:
        waiting = False
        for lsn, _, target, source in moves:
            for name, other in ((target, source), (source, target)):
                if _waits(found, lsn, name, other, gets=name == target):
                    found[name] = _waiting(found[name], lsn, other, found.get(other))
                    waiting = True
    return found


def _moves(reaches: Iterable[Reach]) -> Iterator[tuple[int, int, TableName, TableName]]:
    """Yield where a table gets another's rows: position, its name, the other's."""
    for one in reaches:
        for item in one.items:
            if item.kind == "renamed" and item.other is not None:
                yield *item.position, item.name, item.other


def _waits(
    reaches: Mapping[TableName, Reach], lsn: int, name: TableName, other: TableName, *, gets: bool
) -> bool:
    """Return True if the table passes a RENAME whose rows `other` does not supply or receive."""
    own, its = reaches.get(name), reaches.get(other)
    if own is None or own.to_lsn < lsn or own.from_lsn >= lsn:
        return False
    if not gets:
        return own.keeps_rows(lsn) and (its is None or its.to_lsn < lsn)
    return its is None or its.to_lsn < lsn or not its.keeps_rows(lsn)


def _waiting(one: Reach, lsn: int, other: TableName, its: Reach | None) -> Reach:
    """Return the reach that ends just before a RENAME, or restarts after it."""
    if one.fresh and one.from_lsn == lsn - 1:
        # It would have started with it.
        restart = one.restart if one.restart > lsn else NO_LSN
        again = replace(one, restart=restart).starting_at(one.before.to_lsn)
        return again.or_restarted() if again.held else again
    why = f": {its.held}" if its and its.held else ""
    reason = f"it is renamed together with {other}, which stops before the RENAME{why}"
    if its and its.to_lsn >= lsn:
        reason = f"it gets the rows of {other}, which continued without them"
    return replace(one, to_lsn=lsn - 1, held=reason).or_restarted()


def states_after(
    reaches: Mapping[TableName, Reach], settings: Settings
) -> dict[TableName, TableState]:
    """Return the tables' states at the ends of their reaches."""
    states = {name: _initial_state(one, settings) for name, one in reaches.items()}
    for events in _in_order(reaches.values()):
        before = dict(states)
        for name, event in events:
            states[name] = _after(states[name], event, before)
    return states


def _initial_state(one: Reach, settings: Settings) -> TableState:
    return replace(
        one.before,
        from_lsn=one.from_lsn,
        to_lsn=one.to_lsn,
        held=one.held,
        touched=bool(one.passing),
        key=key_given(settings.keys, str(one.before.name)),
        complete_from=one.before.complete,
        marked=tuple(hold.lsn for hold in one.marked),
        taken_over=(),
        refused=_still_refused(one),
        damage=None,
    )


def _still_refused(one: Reach) -> Refusal | None:
    """Return the refusal if it still holds the table and is not to be retried."""
    refused = one.before.refused
    held = refused is not None and any(hold.lsn == refused.lsn for hold in one.holds)
    return refused if refused and held and refused.lsn > one.to_lsn else None


_Event = TimelineItem | Hold


def _in_order(reaches: Iterable[Reach]) -> Iterator[list[tuple[TableName, _Event]]]:
    """Yield the events that the tables pass, one by one, but those of one RENAME together."""
    events: list[tuple[Position, TableName, _Event]] = []
    for one in reaches:
        name = one.before.name
        # After a CREATE in the same transaction, which may contain the rows of its SELECT.
        events += [((hold.lsn, LAST), name, hold) for hold in one.marked]
        events += [(item.position, name, item) for item in one.passing]
    events.sort(key=lambda event: event[0])
    moving: list[tuple[TableName, _Event]] = []
    at: Position | None = None
    for position, name, event in events:
        if moving and position != at:
            yield moving
            moving = []
        at = position
        if isinstance(event, TimelineItem) and event.kind in MOVES:
            moving.append((name, event))
        else:
            yield [(name, event)]
    if moving:
        yield moving


def _after(state: TableState, event: _Event, before: Mapping[TableName, TableState]) -> TableState:
    """Return the state after an item or a hold; `before`: all tables' states until then."""
    if isinstance(event, Hold):
        return replace(state, complete=False, reason=state.reason or event.reason)
    if event.kind == "create":
        return replace(state, version=event.version, dropped=False, complete=True, reason=None)
    if event.kind == "seeded":
        whole = is_whole(event, state.marked)
        reason = None if whole else event.reason or state.reason
        seed = event.seed.id if event.seed else ""
        begun = replace(state, version=event.version, dropped=False, seed=seed)
        return replace(begun, complete=whole, reason=reason)
    if event.kind == "truncate":
        return replace(state, complete=True, reason=None)
    if event.kind == "renamed" and event.other is not None:
        source = before[event.other]
        return replace(
            state,
            version=event.version,
            dropped=False,
            complete=source.complete,
            reason=source.reason,
            taken_over=(*state.taken_over, (event.lsn, source.complete)),
        )
    if event.kind == "moved":
        reason = f"The source renamed it to {event.other}."
        return replace(state, dropped=True, complete=False, reason=reason)
    if event.kind == "drop":
        return replace(state, dropped=True, complete=False, reason=DROPPED)
    if event.kind == "observed":
        return replace(
            state, version=event.version, dropped=False, complete=False, reason=NOT_FROM_START
        )
    return replace(state, version=event.version or state.version)
