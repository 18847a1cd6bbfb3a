"""RENAME TABLE in gold: each table gets another table's rows, in place, all at once.

Paths are permanent, so rows are copied. The version of each table before the RENAME is first stored
in its properties (`gold_table.keep_base`), and its rows are read at that version, whatever has been
written since, also by a run that resumes after a crash.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from pyspark.sql import SparkSession

from pipeline.catalog import TableName
from pipeline.errors import BinlakeError
from pipeline.gold.changes.steps import MOVES, Evolve, Part, Rows
from pipeline.gold.schema.evolve import create, evolve
from pipeline.gold.table.gold_table import (
    SOURCE,
    GoldTable,
    cluster,
    clustering,
    gold_schema,
    keep_base,
    set_position,
    table_progress,
)
from pipeline.lake import delta
from pipeline.lake.sql_text import quoted


@dataclass(frozen=True, slots=True)
class Step:
    """One part of one table's batch; `version` is its first transaction version.

    `vouched`: at this point gold has exactly the rows that the source had.
    """

    table: GoldTable
    name: TableName
    part: Part
    version: int
    vouched: bool = False


def in_order(steps: Sequence[Step]) -> list[list[Step]]:
    """Return the steps of several tables in log order; those of one RENAME form a group."""
    found: list[list[Step]] = []
    for step in sorted(steps, key=_place):
        if found and _is_move(step) and _is_move(found[-1][0]) and _at(step) == _at(found[-1][0]):
            found[-1].append(step)
        else:
            found.append([step])
    return found


def _at(step: Step) -> tuple[int, int]:
    return step.part.start if isinstance(step.part, Rows) else step.part.item.position


def _place(step: Step) -> tuple[tuple[int, int], int]:
    """One statement may alter a table and rename it; rows follow both."""
    return _at(step), 2 if isinstance(step.part, Rows) else int(_is_move(step))


def _is_move(step: Step) -> bool:
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


def change(spark: SparkSession, steps: Sequence[Step], *, drop_rows: bool) -> None:
    """Apply one change of a definition to a table, or one RENAME to all of its tables."""
    for step in steps:
        if isinstance(step.part, Evolve) and not _is_move(step):
            evolve(
                spark,
                step.table,
                step.part,
                step.version,
                drop_rows=drop_rows,
                vouched=step.vouched,
            )
    _rename(spark, [step for step in steps if _is_move(step)], drop_rows=drop_rows)


def _rename(spark: SparkSession, steps: Sequence[Step], *, drop_rows: bool) -> None:
    tables = {step.name: step.table for step in steps}
    moves = [(step, step.part) for step in steps if isinstance(step.part, Evolve)]
    # For all of them: a table whose own rows go nowhere is overwritten, too.
    for step, part in moves:
        keep_base(spark, step.table, part.item, step.version)
    for step, part in moves:
        if part.item.kind == "renamed":
            _take_rows(spark, step, part, tables)
    for step, part in moves:
        _finish(spark, step, part, drop_rows=drop_rows)


def _take_rows(
    spark: SparkSession, step: Step, part: Evolve, tables: Mapping[TableName, GoldTable]
) -> None:
    item, definition, table = part.item, part.item.definition, step.table
    source = tables.get(item.other) if item.other else None
    now = table_progress(spark, table.reference, table.refresh)
    if definition is None or (now is not None and now.reached >= item.position):
        return
    if now is None:
        create(spark, table, part, definition, {SOURCE: table.source}, step.version)
    was = table_progress(spark, source.reference, source.refresh) if source else None
    base = was.base(item) if was else None
    if source is None or base is None:
        raise BinlakeError(
            f"{item.name} gets the rows of {item.other}, whose gold table was changed meanwhile.",
            remedy="Nothing else may write to gold. Report this if nothing did.",
        )
    rows = delta.read(spark, source.reference, version=base)
    schema = gold_schema(definition, table.types)
    taken = rows.select(*(quoted(field.name) for field in schema.fields))
    delta.overwrite_once(taken, table.reference, app=table.app, version=step.version)


def _finish(spark: SparkSession, step: Step, part: Evolve, *, drop_rows: bool) -> None:
    if part.item.definition is None:
        evolve(spark, step.table, part, step.version, drop_rows=drop_rows, vouched=step.vouched)
        return
    by = clustering(gold_schema(part.item.definition, step.table.types), part.key)
    cluster(spark, step.table, part.item, by, step.version)
    now = table_progress(spark, step.table.reference, step.table.refresh)
    if now is None or now.reached < part.item.position:
        set_position(spark, step.table, part.item, step.version)
