"""How far each table can go in a batch, and where it stands then: its way over items and blocks.

Tables that a RENAME ties together go over it together or not at all, since each takes over the rows
that another has at that point. So ways are first cut to what all can go, and then gone at once, in
the order of the log.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

from pipeline.catalog.effects import TableName
from pipeline.catalog.items import Position, TimelineItem
from pipeline.gold.blocks import Block, Rules
from pipeline.gold.parts import MOVES
from pipeline.gold.refusal import Refusal
from pipeline.gold.state import NO_LSN, TableState

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
    `held` says why it ends before the cut.
    """

    before: TableState
    items: Sequence[TimelineItem]
    blocks: Sequence[Block]
    from_lsn: int
    to_lsn: int
    held: str | None

    @property
    def passing(self) -> list[TimelineItem]:
        """The items on it."""
        return [item for item in self.items if self.from_lsn < item.lsn <= self.to_lsn]

    @property
    def marked(self) -> list[Block]:
        """The blocks that are gone past."""
        start = max(self.before.to_lsn, self.from_lsn)
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
    start = _start(before, cut, items, blocks, rules, given)
    stop = next((b for b in blocks if start < b.lsn <= cut and not b.marked), None)
    to_lsn = stop.lsn - 1 if stop else max(cut, before.to_lsn)
    from_lsn = before.to_lsn if start == before.to_lsn else start - 1
    return Way(before, items, blocks, from_lsn, to_lsn, stop.reason if stop else None)


def _start(
    before: TableState,
    cut: int,
    items: Sequence[TimelineItem],
    blocks: Sequence[Block],
    rules: Rules,
    given: Collection[tuple[Position, TableName]],
) -> int:
    """The LSN that the table can be at whatever went before: its mark, or where it has no rows.

    Not behind a RENAME, for which the rows of before are needed.
    """
    blocked = {block.lsn for block in blocks if not block.marked}
    moves = [item.lsn for item in items if item.kind in MOVES and item.lsn > before.to_lsn]
    last = min([cut, *moves])
    empty = (lsn for lsn in _without_rows(items, blocked, rules, given) if lsn <= last)
    return max(before.to_lsn, *(lsn for lsn in empty if lsn not in blocked), NO_LSN)


def _without_rows(
    items: Sequence[TimelineItem],
    blocked: Collection[int],
    rules: Rules,
    given: Collection[tuple[Position, TableName]],
) -> Iterator[int]:
    """Where the table has no rows of before: at its CREATE, at a DROP that leaves none in gold,
    since conf says so, or since gold never had the table that is dropped, and where it gets
    another's rows, if its own go to none."""
    exists, refused = False, False
    for item in items:
        if item.kind == "create" or not exists:
            refused = item.lsn in blocked
        exists = item.kind not in ("drop", "moved")
        dropped = item.kind == "drop" and (rules.drop_rows or refused)
        replaced = item.kind == "renamed" and (item.position, item.name) not in given
        if item.kind == "create" or dropped or replaced:
            yield item.lsn


def given_away(items: Iterable[TimelineItem]) -> set[tuple[Position, TableName]]:
    """Where a RENAME gives a table's rows to another one."""
    return {
        (item.position, item.other)
        for item in items
        if item.kind == "renamed" and item.other is not None
    }


def together(ways: Mapping[TableName, Way]) -> dict[TableName, Way]:
    """The ways, cut before each RENAME that not all of its tables come to."""
    found = dict(ways)
    renames = sorted(_renames(ways.values()).items())
    waiting = True
    while waiting:
        waiting = False
        for (lsn, _), names in renames:
            late = sorted(n for n in names if n not in found or found[n].to_lsn < lsn)
            for name in names.difference(late) if late else ():
                if found[name].from_lsn < lsn:
                    found[name] = _waiting(found[name], lsn, late[0], found.get(late[0]))
                    waiting = True
    return found


def _renames(ways: Iterable[Way]) -> dict[Position, set[TableName]]:
    """The tables of each RENAME: those that get other rows, and those whose rows these are."""
    found: dict[Position, set[TableName]] = defaultdict(set)
    for one in ways:
        for item in one.items:
            if item.kind in MOVES:
                found[item.position].add(item.name)
            if item.kind == "renamed" and item.other is not None:
                found[item.position].add(item.other)
    return found


def _waiting(one: Way, lsn: int, late: TableName, its: Way | None) -> Way:
    why = f": {its.held}" if its and its.held else ""
    reason = f"it is renamed together with {late}, which does not come to that{why}"
    return replace(one, to_lsn=lsn - 1, held=reason)


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
        refused=_still_refused(one),
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
