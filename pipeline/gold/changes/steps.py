"""The parts of one table's batch, in order: rows, schema changes, rows, …

One transaction can contain DDL and rows (CREATE TABLE … SELECT), so parts are split by position.
Each part has its own key and completeness: both may change in the middle of a batch.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

from decoder import TableDefinition
from pipeline.gold.table.state import TableState
from pipeline.schema_history.alter.items import Position, TimelineItem
from pipeline.schema_history.ddl.model import TableModel

BEGINNINGS = ("create", "seeded", "truncate")
"""Items after which earlier ones do not matter: the table is empty or has a seed's rows."""
MOVES = ("renamed", "moved")
"""Items at which a table's rows move to another name, or another table's rows to it."""
_NOT_OF_GOLD = ("version", "keys", "model", "rows_not_logged")
"""Items that do not change gold's table."""


@dataclass(frozen=True, slots=True)
class Rows:
    """Changes with `start` <= (LSN, position) < `stop`, in silver's `v<version>`.

    `key`: the columns that identify a row; `complete`: no change before `stop` is missing;
    `model`: further properties from DDL, if known.
    """

    definition: TableDefinition
    version: int
    start: Position
    stop: Position
    key: tuple[str, ...] = ()
    complete: bool = False
    model: TableModel | None = None


@dataclass(frozen=True, slots=True)
class Evolve:
    """A change of the table itself; `before` is its previous definition, if any.

    `key`: the columns that identify its rows from then on.
    """

    item: TimelineItem
    before: TableDefinition | None
    key: tuple[str, ...] = ()


Part = Rows | Evolve


def parts(state: TableState, items: Sequence[TimelineItem]) -> list[Part]:
    """Return the parts of one table's batch, in order; `items` is the table's whole timeline.

    Parts before the batch's last CREATE or seed are left out, since it replaces all rows; so are
    those before a DROP or RENAME that the batch starts with. Before a TRUNCATE only changes of the
    definition are kept. A RENAME in between needs the earlier rows.
    """
    reached = [item for item in items if item.lsn <= state.to_lsn]
    moves = [
        n for n, item in enumerate(reached) if item.lsn > state.from_lsn and item.kind in MOVES
    ]
    begins = [n for n, item in enumerate(reached) if _begins(item, state)]
    begins = [n for n in begins if not moves or n <= moves[0]]
    if begins:
        model = model_after(reached[: begins[-1]])
        return _needed(_Batch(state, None, model).parts(reached[begins[-1] :]))
    return _needed(_all_parts(state, reached))


def rows_between(items: Iterable[TimelineItem], low: int, high: int) -> list[Rows]:
    """Return the parts of a table's changes in (`low`, `high`], even if it was dropped since."""
    reached = [item for item in items if item.lsn <= high]
    found = _all_parts(TableState("", "", low, high), reached)
    return [part for part in found if isinstance(part, Rows)]


def _all_parts(state: TableState, reached: Sequence[TimelineItem]) -> Iterator[Part]:
    passed = [item for item in reached if item.lsn <= state.from_lsn]
    batch = _Batch(state, _latest(passed), model_after(passed))
    return batch.parts(reached[len(passed) :])


def _needed(found: Iterator[Part]) -> list[Part]:
    """Return the parts without rows that a TRUNCATE removes before anything reads them."""
    kept: list[Part] = []
    emptied = False
    for part in reversed(list(found)):
        if isinstance(part, Evolve):
            emptied = part.item.kind == "truncate" or (emptied and not _reads_rows(part.item))
        if not (emptied and isinstance(part, Rows)):
            kept.append(part)
    return kept[::-1]


def _reads_rows(item: TimelineItem) -> bool:
    """Return True if a change needs the rows as they are then, because it converts their values."""
    steps = item.columns or ()
    return item.kind in MOVES or any(step.convert or step.generated for step in steps)


def _begins(item: TimelineItem, state: TableState) -> bool:
    if item.kind in ("drop", "renamed"):
        return item.lsn == state.from_lsn + 1
    return item.kind in ("create", "seeded") and item.lsn > state.from_lsn


def is_whole(item: TimelineItem, marked: Iterable[int]) -> bool:
    """Return True if a seeded table has all rows of the source; `marked`: skipped faults."""
    seed = item.seed
    lacks = seed is not None and any(seed.lsn < lsn <= item.lsn for lsn in marked)
    return item.reason is None and not lacks


def _latest(items: Sequence[TimelineItem]) -> TimelineItem | None:
    """Return the item whose definition is in force after all of them; None without a table."""
    latest = None
    for item in items:
        if item.kind in ("drop", "moved"):
            latest = None
        elif item.definition is not None:
            latest = item
    return latest


def model_after(
    items: Iterable[TimelineItem], model: TableModel | None = None
) -> TableModel | None:
    """Return the DDL model after these items; items from table maps leave it unchanged."""
    for item in items:
        begins = item.definition is not None or item.kind == "create"
        declared = item.kind == "model" or (begins and item.statement is not None)
        if item.kind in ("drop", "moved"):
            model = None
        elif declared or item.model is not None:
            model = item.model
    return model


class _Batch:
    """State of a table between two parts: its definition, and whether changes are missing."""

    def __init__(
        self, state: TableState, current: TimelineItem | None, model: TableModel | None
    ) -> None:
        self._state = state
        self._current = current
        self._model = model
        self._complete = state.complete_from
        # Only faults after this LSN count.
        self._since = state.from_lsn
        self._at: Position = (state.from_lsn + 1, 0)

    def parts(self, items: Sequence[TimelineItem]) -> Iterator[Part]:
        """Yield the parts of the batch's `items` and of the rows between them."""
        for item in items:
            yield from self._rows(item.position)
            before = self._current.definition if self._current else None
            self._current = _latest([*([self._current] if self._current else []), item])
            self._model = model_after([item], self._model)
            if item.kind not in _NOT_OF_GOLD:
                yield Evolve(item, before, self._key())
            self._take(item)
        yield from self._rows((self._state.to_lsn + 1, 0))

    def _take(self, item: TimelineItem) -> None:
        self._at = item.position
        if item.kind in BEGINNINGS:
            # The transaction of a CREATE may contain its SELECT's rows: its own faults count.
            self._complete = item.seed is None or is_whole(item, self._state.marked)
            self._since = item.lsn - (item.kind == "create")
        elif item.kind == "renamed":
            # Changes that the other table lacks are missing here too.
            self._complete = dict(self._state.taken_over).get(item.lsn, False)
            self._since = item.lsn
        elif item.kind in ("observed", "drop", "moved"):
            self._complete = False

    def _rows(self, stop: Position) -> Iterator[Rows]:
        current = self._current
        if current and current.definition and current.version is not None and self._at < stop:
            complete = self._complete and not any(
                self._since < lsn and (lsn, 0) < stop for lsn in self._state.marked
            )
            yield Rows(
                current.definition,
                current.version,
                self._at,
                stop,
                self._key(),
                complete,
                self._model,
            )

    def _key(self) -> tuple[str, ...]:
        return self._state.key_of(self._current.definition if self._current else None)
