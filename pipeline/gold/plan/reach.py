"""How far each table can go in a batch, and where it stands then: its way over items and blocks.

A table that takes over another's rows in a RENAME goes over it with that one or not at all. So ways
are first cut to what both can go, and then gone at once, in the order of the log. A table that can
go no further goes on where it has none of its rows of before, though others then never get these.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

from pipeline.catalog import TableName
from pipeline.catalog.alter.items import Position, TimelineItem
from pipeline.gold.changes.blockers import Block, Rules
from pipeline.gold.changes.steps import MOVES, is_whole
from pipeline.gold.table.refusal import Refusal
from pipeline.gold.table.state import NO_LSN, TableState

DROPPED = "The source dropped it."
LAST = 2**63 - 1
"""A position behind all others in a transaction."""
NOT_FROM_START = (
    "Its CREATE TABLE is not in the log: rows from before the first binlog file are missing."
)


@dataclass(frozen=True, slots=True)
class Way:
    """One table's way from `before` to the end of the transaction at `to_lsn`.

    It begins behind `from_lsn`, which is further on than `before` where the table has no rows then.
    `held` says why it ends before `cut`. `anew`: the last LSN, also behind its end, at which the
    table has none of its rows of before, even if another gets them; `fresh`: it begins at one.
    """

    before: TableState
    items: Sequence[TimelineItem]
    blocks: Sequence[Block]
    cut: int
    anew: int
    from_lsn: int = NO_LSN
    to_lsn: int = NO_LSN
    held: str | None = None
    fresh: bool = False

    def begun_at(self, start: int) -> Way:
        """The way from there, or from `before` if that is where it is, to the next block."""
        stop = next((b for b in self.blocks if start < b.lsn <= self.cut and not b.marked), None)
        fresh = start != self.before.to_lsn or self._seeded_where_it_is
        return replace(
            self,
            from_lsn=start - fresh,
            to_lsn=stop.lsn - 1 if stop else max(self.cut, self.before.to_lsn),
            held=stop.reason if stop else None,
            fresh=fresh,
        )

    @property
    def _seeded_where_it_is(self) -> bool:
        """Whether the table gets a seed's rows right behind what it has."""
        here = self.before.to_lsn
        seeds = [item.seed.id for item in self.items if item.seed and item.lsn == here]
        blocked = any(block.lsn == here and not block.marked for block in self.blocks)
        return bool(seeds) and seeds[-1] != self.before.seed and not blocked

    def stopped(self) -> Way:
        """What is left to a table that can go no further: to begin anew, where it can."""
        return self.begun_at(self.anew) if self.anew > self.to_lsn else self

    def has_rows_of_before(self, lsn: int) -> bool:
        """Whether it comes to that transaction with its rows."""
        return self.from_lsn < lsn - self.fresh

    @property
    def passing(self) -> list[TimelineItem]:
        """The items on it."""
        return [item for item in self.items if self.from_lsn < item.lsn <= self.to_lsn]

    @property
    def marked(self) -> list[Block]:
        """The blocks that are gone past, those behind a seed too that are before its item."""
        seeds = (item.seed.lsn for item in self.passing if item.seed)
        start = min([max(self.before.to_lsn, self.from_lsn), *seeds])
        return [b for b in self.blocks if b.marked and start < b.lsn <= self.to_lsn]


def way(
    before: TableState,
    cut: int,
    items: Sequence[TimelineItem],
    blocks: Sequence[Block],
    rules: Rules,
    given: Collection[tuple[Position, TableName]] = (),
) -> Way:
    """How far a table can go by itself; `given`: where a RENAME gives a table's rows to another."""
    blocked = {block.lsn for block in blocks if not block.marked}
    ends = [lsn for lsn in _without_rows(items, blocked, rules, ()) if lsn not in blocked]
    anew = max((lsn for lsn in ends if lsn <= cut), default=NO_LSN)
    found = Way(before, items, blocks, cut, anew)
    found = found.begun_at(_start(before, cut, items, blocks, rules, given))
    return found.stopped() if found.held else found


def _start(
    before: TableState,
    cut: int,
    items: Sequence[TimelineItem],
    blocks: Sequence[Block],
    rules: Rules,
    given: Collection[tuple[Position, TableName]],
) -> int:
    """The LSN that the table can be at whatever went before: its mark, or where it has no rows.

    Not behind a RENAME, for which the rows of before are needed, nor in one that takes them away.
    """
    blocked = {block.lsn for block in blocks if not block.marked}
    moves = [i.lsn - (i.kind == "moved") for i in items if i.kind in MOVES]
    last = min([cut, *(lsn for lsn in moves if lsn > before.to_lsn)])
    empty = (lsn for lsn in _without_rows(items, blocked, rules, given) if lsn <= last)
    return max(before.to_lsn, *(lsn for lsn in empty if lsn not in blocked), NO_LSN)


def _without_rows(
    items: Sequence[TimelineItem],
    blocked: Collection[int],
    rules: Rules,
    given: Collection[tuple[Position, TableName]],
) -> Iterator[int]:
    """Where the table has no rows of before: at its CREATE, where it gets a seed's rows, at a DROP
    that leaves none in gold, since conf says so, or since gold never had the table that is dropped,
    and where it gets another's rows, if its own go to none."""
    exists, refused = False, False
    for item in items:
        if item.kind in ("create", "seeded") or not exists:
            refused = item.lsn in blocked
        exists = item.kind not in ("drop", "moved")
        dropped = item.kind == "drop" and (rules.drop_rows or refused)
        replaced = item.kind == "renamed" and (item.position, item.name) not in given
        if item.kind in ("create", "seeded") or dropped or replaced:
            yield item.lsn


def given_away(items: Iterable[TimelineItem]) -> set[tuple[Position, TableName]]:
    """Where a RENAME gives a table's rows to another one."""
    return {
        (item.position, item.other)
        for item in items
        if item.kind == "renamed" and item.other is not None
    }


def together(ways: Mapping[TableName, Way]) -> dict[TableName, Way]:
    """The ways, so that who gets another's rows in a RENAME goes over it if that one does too."""
    found = dict(ways)
    moves = sorted(_moves(ways.values()))
    waiting = True
    while waiting:
        waiting = False
        for lsn, _, target, source in moves:
            for name, other in ((target, source), (source, target)):
                if _waits(found, lsn, name, other, gets=name == target):
                    found[name] = _waiting(found[name], lsn, other, found.get(other))
                    waiting = True
    return found


def _moves(ways: Iterable[Way]) -> Iterator[tuple[int, int, TableName, TableName]]:
    """Where a table gets another's rows: position, its name, the other's."""
    for one in ways:
        for item in one.items:
            if item.kind == "renamed" and item.other is not None:
                yield *item.position, item.name, item.other


def _waits(
    ways: Mapping[TableName, Way], lsn: int, name: TableName, other: TableName, *, gets: bool
) -> bool:
    """Whether a table goes over a RENAME with rows that `other` does not bring, or not take."""
    own, its = ways.get(name), ways.get(other)
    if own is None or own.to_lsn < lsn or own.from_lsn >= lsn:
        return False
    if not gets:
        return own.has_rows_of_before(lsn) and (its is None or its.to_lsn < lsn)
    return its is None or its.to_lsn < lsn or not its.has_rows_of_before(lsn)


def _waiting(one: Way, lsn: int, other: TableName, its: Way | None) -> Way:
    """The way to just before a RENAME, or anew from behind it."""
    if one.fresh and one.from_lsn == lsn - 1:
        # It would have begun with it.
        anew = one.anew if one.anew > lsn else NO_LSN
        again = replace(one, anew=anew).begun_at(one.before.to_lsn)
        return again.stopped() if again.held else again
    why = f": {its.held}" if its and its.held else ""
    reason = f"it is renamed together with {other}, which does not come to that{why}"
    if its and its.to_lsn >= lsn:
        reason = f"it gets the rows that {other} had, which went on without them"
    return replace(one, to_lsn=lsn - 1, held=reason).stopped()


def standing_after(ways: Mapping[TableName, Way], rules: Rules) -> dict[TableName, TableState]:
    """Where the tables are at the ends of their ways."""
    states = {name: _setting_out(one, rules) for name, one in ways.items()}
    for events in _in_order(ways.values()):
        before = dict(states)
        for name, event in events:
            states[name] = _after(states[name], event, before)
    return states


def _setting_out(one: Way, rules: Rules) -> TableState:
    return replace(
        one.before,
        from_lsn=one.from_lsn,
        to_lsn=one.to_lsn,
        held=one.held,
        touched=bool(one.passing),
        key=rules.given(str(one.before.name)),
        complete_from=one.before.complete,
        marked=tuple(block.lsn for block in one.marked),
        taken_over=(),
        refused=_still_refused(one),
        damage=None,
    )


def _still_refused(one: Way) -> Refusal | None:
    """What was refused and is not gone past, nor worth another try."""
    refused = one.before.refused
    blocked = refused is not None and any(block.lsn == refused.lsn for block in one.blocks)
    return refused if refused and blocked and refused.lsn > one.to_lsn else None


_Event = TimelineItem | Block


def _in_order(ways: Iterable[Way]) -> Iterator[list[tuple[TableName, _Event]]]:
    """What the tables meet: item by item, but the items of one RENAME at once."""
    events: list[tuple[Position, TableName, _Event]] = []
    for one in ways:
        name = one.before.name
        # Behind a CREATE in the same transaction, which may hold its SELECT's rows.
        events += [((block.lsn, LAST), name, block) for block in one.marked]
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
    """The state once a table has met an item or a block; `before`: all tables until then."""
    if isinstance(event, Block):
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
