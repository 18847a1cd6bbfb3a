"""ALTER TABLE on a gold table: by metadata only if no values change, otherwise by rewriting it.

For metadata, each commit is the next step from the columns that the table has to those that it
should have, so it does not matter which run made the previous one. This requires that a name means
the same column throughout; if a statement frees a name and gives it to another column, the table is
rewritten. A table's first RENAME or DROP enables Delta's column mapping, in a commit of its own. A
rewrite reads the table's previous version, which is first stored in its properties.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from functools import partial

import pyarrow as pa
from pyspark.errors import AnalysisException
from pyspark.sql import Column, DataFrame, functions as sf, types as st

from pipeline.gold.changes.images import known
from pipeline.gold.changes.refusals import write_values
from pipeline.gold.changes.small_batch import local
from pipeline.gold.changes.steps import Evolve
from pipeline.gold.local.overwrite import HeldRows
from pipeline.gold.local.table import fill_without_spark
from pipeline.gold.schema.converted_values import converted
from pipeline.gold.schema.generated import generated_value
from pipeline.gold.schema.table_change import TableChange, needed_features
from pipeline.gold.table.names import COMMITTED_AT, LSN, OWN_COLUMNS
from pipeline.gold.table.table_metadata import properties_clause, set_columns
from pipeline.lake import delta
from pipeline.lake.delta_log.column_features import FOR_MAPPING, enabling
from pipeline.lake.delta_log.spark_types import spark_schema
from pipeline.lake.delta_log.spark_written import clustered_by, columns, features
from pipeline.lake.sql_text import in_sql, literal, quoted
from pipeline.schema_history.alter.items import ColumnStep

_ADDING = ("ADD COLUMNS", "ALTER COLUMN")
"""Beginnings of clauses that add or move columns, and leave all others as they are."""


def alter_table(change: TableChange) -> None:
    """Apply one change to the table's columns and key; the caller sets the table's position.

    Raise TableRefusedError if a value of rows that gold vouches for does not fit; other values that
    do not fit become NULL.
    """
    steps = change.item.columns
    base = change.keep_base()
    if base is None:
        return  # another run has passed it
    if steps is not None and _values_stay(change.part, steps):
        _by_metadata(change, steps)
    elif steps is not None:
        rows = partial(_rewritten, steps=steps, schema=change.schema, vouched=change.vouched)
        write_values(lambda: _rewrite(change, base, steps, rows), change.item.lsn)
    change.cluster()


def add_columns(change: TableChange) -> None:
    """Add columns in their places; existing rows get the DEFAULT."""
    defaults = change.item.defaults or {}
    steps = tuple(
        ColumnStep(c.name, text=defaults[c.name])
        if c.name in defaults
        else ColumnStep(c.name, c.name)
        for c in change.definition.columns
    )
    _by_metadata(change, steps)


def _values_stay(part: Evolve, steps: Sequence[ColumnStep]) -> bool:
    """Return True if the change needs metadata only."""
    before = [column.name for column in part.before.columns] if part.before else []
    kept = {step.old: step.name for step in steps if step.old is not None}
    freed = {name.casefold() for name in before if kept.get(name) != name}
    return all(step.convert is None for step in steps) and not any(
        step.name.casefold() in freed for step in steps
    )


# --- by metadata ----------------------------------------------------------------------------------


def _by_metadata(change: TableChange, steps: Sequence[ColumnStep]) -> None:
    while _next(change, steps) is not None:
        change.commit(partial(_step, change, steps))
    texts = {step.name: step.text for step in steps if step.old is None and step.text is not None}
    if texts and not fill_without_spark(change.spark, change.write, change.schema.fields, texts):
        schema = change.schema
        values = (f"{quoted(n)} = {typed(t, schema[n].dataType)}" for n, t in texts.items())
        change.execute(f"UPDATE {in_sql(change.table.reference)} SET {', '.join(values)}")


def _step(change: TableChange, steps: Sequence[ColumnStep]) -> None:
    """Make one commit, or none if another run has just made it."""
    clause = _next(change, steps)
    if clause is None:
        return
    if clause.startswith(_ADDING) and set_columns(
        change.spark, change.table.reference, change.schema
    ):
        return
    try:
        change.session.sql(f"ALTER TABLE {in_sql(change.table.reference)} {clause}")
    except AnalysisException:
        if _next(change, steps) == clause:
            raise


def _next(change: TableChange, steps: Sequence[ColumnStep]) -> str | None:
    """Return the next change of the table's metadata; None if it is complete."""
    now = change.progress()
    if now is None or now.reached >= change.item.position:
        return None
    spark, reference = change.spark, change.table.reference
    present = [name for name in columns(spark, reference) if name not in OWN_COLUMNS]
    table = Metadata(present, clustered_by(spark, reference), features(spark, reference))
    return next_change(table, steps, change.schema)


@dataclass(frozen=True, slots=True)
class Metadata:
    """A table's current columns (without gold's own), clustering columns and features."""

    columns: Sequence[str]
    clustered: Sequence[str]
    features: frozenset[str]


def next_change(now: Metadata, steps: Sequence[ColumnStep], schema: st.StructType) -> str | None:
    """Return the next ALTER TABLE clause for a table; None if it has its columns after `steps`."""
    present, targets = now.columns, [step.name for step in steps]
    renamed = {step.old: step.name for step in steps if step.old not in (None, step.name)}
    gone = [name for name in present if name not in targets and name not in renamed]
    needed = needed_features(schema)
    if gone or not renamed.keys().isdisjoint(present):
        needed |= FOR_MAPPING
    if needed - now.features:
        return properties_clause(enabling(sorted(needed - now.features)))
    if gone and set(gone) & set(now.clustered):
        return "CLUSTER BY NONE"  # Delta drops no clustering column
    if gone:
        return f"DROP COLUMNS ({', '.join(map(quoted, gone))})"
    for name in present:
        if name in renamed:
            return f"RENAME COLUMN {quoted(name)} TO {quoted(renamed[name])}"
    if missing := [place for place, name in enumerate(targets) if name not in present]:
        clauses = (_added(schema, place) for place in missing)
        return f"ADD COLUMNS ({', '.join(clauses)})"
    place = first_out_of_place(present, targets)
    if place is None:
        return None
    return f"ALTER COLUMN {quoted(targets[place])} {_position_clause(targets, place)}"


def _added(schema: st.StructType, place: int) -> str:
    field = schema.fields[place]
    where = _position_clause([other.name for other in schema.fields], place)
    return f"{quoted(field.name)} {field.dataType.simpleString()} {where}"


def _position_clause(names: Sequence[str], place: int) -> str:
    return f"AFTER {quoted(names[place - 1])}" if place else "FIRST"


def first_out_of_place(present: Sequence[str], targets: Sequence[str]) -> int | None:
    """Return the place in `targets` of the first column to move; as few as possible are moved.

    The columns that stay form a longest subsequence that is already in order.
    """
    places = [targets.index(name) for name in present]
    longest: list[list[int]] = []
    for place in places:
        longest.append([*_longest(run for run in longest if run[-1] < place), place])
    stay = set(_longest(longest))
    return next((place for place in range(len(targets)) if place not in stay), None)


def _longest(runs: Iterable[list[int]]) -> list[int]:
    return max(runs, key=lambda run: len(run), default=[])


def typed(text: str | None, kind: st.DataType) -> str:
    """Return a default's text as a value of its column, in SQL.

    `pipeline.schema_history.ddl.defaults` defines the text.
    """
    value = "NULL" if text is None else literal(text)
    if isinstance(kind, st.BinaryType):
        return f"unhex({value})"
    return f"CAST({value} AS {kind.simpleString()})"


# --- by rewriting ---------------------------------------------------------------------------------


def _rewrite(
    change: TableChange,
    base: int,
    steps: Sequence[ColumnStep],
    rows: Callable[[DataFrame], DataFrame],
) -> None:
    """Replace the table's rows by those that `rows` returns for version `base`, in these steps."""
    reference = change.table.reference
    # Not while the table is locked: Spark may have to start.
    parent, session = change.session, change.rewriting

    def converted(held: pa.Table) -> pa.Table:
        return rows(local(session, parent, held, spark_schema(held.schema))).toArrow()

    added = sum(len((step.text or "").encode()) for step in steps)
    if not change.overwrite_here(HeldRows(reference, base, converted, added)):
        change.overwrite(rows(delta.read(session, reference, version=base)))


def _rewritten(
    rows: DataFrame, steps: Sequence[ColumnStep], schema: st.StructType, *, vouched: bool
) -> DataFrame:
    values = (
        _value(step, schema[step.name].dataType, vouched=vouched).alias(step.name) for step in steps
    )
    return rows.select(*values, LSN, COMMITTED_AT)


def _value(step: ColumnStep, kind: st.DataType, *, vouched: bool) -> Column:
    if step.generated is not None:
        value, is_known = generated_value(step.generated)
        value = known(value, is_known, step.name, vouched=vouched)
        return converted(value, step.convert, kind, vouched=vouched)
    if step.old is None:
        return sf.expr(typed(step.text, kind))
    return converted(sf.col(quoted(step.old)), step.convert, kind, vouched=vouched)
