"""What carries one table from its mark to where the plan wants it: rows, schema changes, rows, ….

One transaction can hold DDL and rows (CREATE TABLE … SELECT), so the parts are split by position.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from decoder.definition import TableDefinition
from pipeline.catalog.items import Position, TimelineItem
from pipeline.gold.state import TableState


@dataclass(frozen=True, slots=True)
class Rows:
    """Changes with `start` <= (LSN, position) < `stop`, in silver's `v<version>`."""

    definition: TableDefinition
    version: int
    start: Position
    stop: Position


@dataclass(frozen=True, slots=True)
class Evolve:
    """A change of the table itself; `before` is its definition until then, if it has any."""

    item: TimelineItem
    before: TableDefinition | None


Part = Rows | Evolve


def parts(state: TableState, items: Sequence[TimelineItem]) -> list[Part]:
    """The parts of one table's batch, in order; `items` is the table's whole timeline.

    Nothing before the batch's last CREATE needs to be done, since it empties the table, and nothing
    before a DROP that the batch begins with.
    """
    end = (state.to_lsn + 1, 0)
    reached = [item for item in items if item.position < end]
    begins = [n for n, item in enumerate(reached) if _begins(item, state)]
    if begins:
        return list(_parts(None, reached[begins[-1] :], (state.from_lsn + 1, 0), end))
    passed = [item for item in reached if item.lsn <= state.from_lsn]
    return list(_parts(_latest(passed), reached[len(passed) :], (state.from_lsn + 1, 0), end))


def _begins(item: TimelineItem, state: TableState) -> bool:
    if item.kind == "drop":
        return item.lsn == state.from_lsn + 1
    return item.kind == "create" and item.lsn > state.from_lsn


def _latest(items: Sequence[TimelineItem]) -> TimelineItem | None:
    """The item whose definition stands after all of them, or None where there is no table."""
    latest = None
    for item in items:
        if item.kind == "drop":
            latest = None
        elif item.definition is not None:
            latest = item
    return latest


def _parts(
    current: TimelineItem | None,
    items: Sequence[TimelineItem],
    start: Position,
    end: Position,
) -> Iterator[Part]:
    for item in items:
        yield from _rows(current, start, item.position)
        before = current.definition if current else None
        if item.kind != "version":
            yield Evolve(item, before)
        current = _latest([*([current] if current else []), item])
        start = item.position
    yield from _rows(current, start, end)


def _rows(current: TimelineItem | None, start: Position, stop: Position) -> Iterator[Rows]:
    if current and current.definition and current.version is not None and start < stop:
        yield Rows(current.definition, current.version, start, stop)
