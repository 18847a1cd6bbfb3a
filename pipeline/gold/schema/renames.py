"""RENAME TABLE in gold: each table gets another table's rows, in place, all at once.

Paths are permanent, so rows are copied. The version of each table before the RENAME is first stored
in its properties (`TableChange.keep_base`), and its rows are read at that version, whatever has
been written since, also by a run that resumes after a crash.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from pipeline.errors import BinlakeError
from pipeline.gold.changes.steps import MOVES, Evolve, Part, Rows
from pipeline.gold.local.overwrite import HeldRows
from pipeline.gold.schema.evolve import create, evolve
from pipeline.gold.schema.table_change import TableChange
from pipeline.gold.table.gold_table import GoldTable, table_progress
from pipeline.lake import delta
from pipeline.lake.lazy_spark import Spark
from pipeline.lake.sql_text import quoted
from pipeline.schema_history import TableName


@dataclass(frozen=True, slots=True)
class TableStep:
    """One part of one table's batch; `version` is its first transaction version.

    `vouched`: at this point gold has exactly the rows that the source had.
    """

    table: GoldTable
    name: TableName
    part: Part
    version: int
    vouched: bool = False


def in_order(steps: Sequence[TableStep]) -> list[list[TableStep]]:
    """Return the steps of several tables in log order; those of one RENAME form a group."""
    found: list[list[TableStep]] = []
    for step in sorted(steps, key=_place):
        if found and _is_move(step) and _is_move(found[-1][0]) and _at(step) == _at(found[-1][0]):
            found[-1].append(step)
        else:
            found.append([step])
    return found


def _at(step: TableStep) -> tuple[int, int]:
    return step.part.start if isinstance(step.part, Rows) else step.part.item.position


def _place(step: TableStep) -> tuple[tuple[int, int], int]:
    """Return the sort key: one statement may alter and rename a table; rows follow both."""
    return _at(step), 2 if isinstance(step.part, Rows) else int(_is_move(step))


def _is_move(step: TableStep) -> bool:
    return isinstance(step.part, Evolve) and step.part.item.kind in MOVES


def connected_groups(
    names: Sequence[TableName], pairs: Sequence[tuple[TableName, TableName]]
) -> list[list[TableName]]:
    """Return the names in groups, such that both names of each pair are in the same group."""
    group = {name: [name] for name in names}
    for one, other in pairs:
        if one in group and other in group and group[one] is not group[other]:
            joined = [*group[one], *group[other]]
            group.update(dict.fromkeys(joined, joined))
    return list({id(members): members for members in group.values()}.values())


def change(spark: Spark, steps: Sequence[TableStep], *, drop_rows: bool) -> None:
    """Apply one change of a definition to a table, or one RENAME to all of its tables."""
    changes = [
        TableChange(spark, step.table, step.part, step.version, step.vouched, drop_rows)
        for step in steps
        if isinstance(step.part, Evolve)
    ]
    moves = [one for one in changes if one.item.kind in MOVES]
    for one in changes:
        if one.item.kind not in MOVES:
            evolve(one)
    _rename(moves)


def _rename(moves: Sequence[TableChange]) -> None:
    tables = {move.item.name: move.table for move in moves}
    # For all of them: a table whose own rows go nowhere is overwritten, too.
    for move in moves:
        move.keep_base()
    for move in moves:
        if move.item.kind == "renamed":
            _take_rows(move, tables)
    for move in moves:
        if move.item.definition is None:
            evolve(move)
        else:
            move.cluster()
            move.set_position()


def _take_rows(move: TableChange, tables: Mapping[TableName, GoldTable]) -> None:
    item = move.item
    now = move.progress()
    if item.definition is None or (now is not None and now.reached >= item.position):
        return
    if now is None:
        create(move)
    source = tables.get(item.other) if item.other else None
    was = table_progress(move.spark, source.reference, source.refresh) if source else None
    base = was.base(item) if was else None
    if source is None or base is None:
        raise BinlakeError(
            f"{item.name} gets the rows of {item.other}, whose gold table was changed meanwhile.",
            remedy="Nothing else may write to gold. Report this if nothing did.",
        )
    if not move.overwrite_here(HeldRows(source.reference, base, lambda rows: rows)):
        rows = delta.read(move.session, source.reference, version=base)
        move.overwrite(rows.select(*map(quoted, move.schema.names)))
