"""Columns that row images leave out: their DEFAULTs, and generated ones computed from the others.

MariaDB 11.8 leaves all generated columns out of updates and deletes, whatever binlog_row_image is;
earlier releases, and inserts, lack VIRTUAL ones in MINIMAL images. A change with all of them
computed is treated as if it had been logged that way. If the result of an expression is not
certain, the column stays left out: it keeps its value if none of the columns it depends on changed.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from functools import partial, reduce

import pyarrow as pa
import pyarrow.compute as pc
from pyspark.sql import Column, DataFrame, functions as sf, types as st

from decoder import TableDefinition, TypeOptions
from decoder.columns import row_type
from decoder.constants import BINARY_COLLATION, ZERO_DATE_TYPES, ColumnType
from decoder.model import ColumnDefinition
from pipeline.gold.changes.images import (
    MARIADB_GTID,
    Doubt,
    LeftOut,
    Unlogged,
    image_type,
    is_left_out,
    whole_after,
)
from pipeline.gold.changes.steps import Rows
from pipeline.gold.schema.alter_table import typed
from pipeline.gold.schema.converted_values import certainly_converted
from pipeline.gold.schema.generated import ColumnSource, generated_value
from pipeline.gold.table.gold_table import gold_schema
from pipeline.schema_history.alter.generated import depends_on_session, recomputed
from pipeline.schema_history.ddl.conversion_mode import ConversionMode, UnknownValueError
from pipeline.schema_history.ddl.defaults import python_value
from pipeline.schema_history.ddl.expression_reader import (
    TEXT_TYPES,
    expression_tokens,
    printed_expression,
)
from pipeline.schema_history.ddl.expressions import columns_of
from pipeline.schema_history.ddl.model import ColumnDefault

_SIDES = ("before", "after")
NOT_DECLARED = "no statement in the log declares its DEFAULT"


def left_out(part: Rows, types: TypeOptions, *, lenient: bool = False) -> LeftOut:
    """Return the meaning of columns that images leave out, by a part's definition and DEFAULTs."""
    schema = gold_schema(part.definition, types)
    kinds = {field.name: field.type for field in row_type(part.definition, types)}
    declared = _declared(part)
    reasons = {
        column.name: _unknown(declared.get(column.name), column, kinds[column.name])
        for column in part.definition.columns
    }
    return LeftOut(
        json=frozenset(c.name for c in part.definition.columns if c.type == ColumnType.JSON),
        defaults={
            name: sf.expr(typed(declared[name].text, schema[name].dataType))
            for name, reason in reasons.items()
            if not reason
        },
        reasons={name: reason for name, reason in reasons.items() if reason},
        unlogged=_unlogged_columns(part.definition, declared, schema, types),
        undeclared=_undeclared(part.definition, declared),
        lenient=lenient,
    )


def defaults_here(
    part: Rows, types: TypeOptions, changes: pa.Table
) -> Mapping[str, pa.Scalar] | None:
    """Return the known DEFAULTs of a part's columns; None if an image of these changes may lack a
    generated column that has changed."""
    declared, columns = _declared(part), part.definition.columns
    if any(declared[column.name].unlogged for column in columns if column.name in declared):
        return None
    if _undeclared(part.definition, declared):
        of_mariadb = pc.match_substring_regex(changes["__gtid"], MARIADB_GTID)
        if pc.any(of_mariadb).as_py():
            return None
    kinds = {field.name: field.type for field in row_type(part.definition, types)}
    found = {}
    for column in columns:
        if not _unknown(declared.get(column.name), column, kinds[column.name]):
            value = python_value(declared[column.name].text, kinds[column.name])
            with suppress(pa.ArrowException):  # Spark converts the text, or says why not
                found[column.name] = pa.scalar(value, kinds[column.name])
    return found


def _declared(part: Rows) -> dict[str, ColumnDefault]:
    return {default.name: default for default in part.model.defaults} if part.model else {}


def _undeclared(
    definition: TableDefinition, declared: Mapping[str, ColumnDefault]
) -> frozenset[str]:
    """Return the columns that may be generated, for all that the log says."""
    # MariaDB's generated columns are always nullable.
    return frozenset(c.name for c in definition.columns if c.nullable and c.name not in declared)


def _unknown(default: ColumnDefault | None, column: ColumnDefinition, kind: pa.DataType) -> str:
    """Return why a column's DEFAULT is not known; empty if it is."""
    if default is None:
        return NOT_DECLARED
    if default.nullable and default.text is None and not column.nullable:
        return default.reason or "it became NOT NULL after it was declared"
    try:
        python_value(default.text, kind)
    except (ValueError, ArithmeticError):
        return default.reason or "it was declared with a type other than its current one"
    return default.reason


def _unlogged_columns(
    definition: TableDefinition,
    declared: Mapping[str, ColumnDefault],
    schema: st.StructType,
    types: TypeOptions,
) -> tuple[Unlogged, ...]:
    """Return a table's generated columns, in order; each depends on columns before it.

    `declared`: the defaults in DDL, by column name.
    """
    known_defaults = [declared[c.name] for c in definition.columns if c.name in declared]
    generated = [default for default in known_defaults if default.unlogged]
    found: dict[str, Unlogged] = {}
    for n, default in enumerate(generated):
        later = {other.name for other in generated[n:]}
        known = [column for column in definition.columns if column.name not in later]
        one = _unlogged(default, definition, known, schema[default.name].dataType, types)
        found[one.name] = replace(one, sources=_bases(one, found))
    return tuple(found.values())


def _unlogged(
    default: ColumnDefault,
    definition: TableDefinition,
    known: Sequence[ColumnDefinition],
    kind: st.DataType,
    types: TypeOptions,
) -> Unlogged:
    if not default.expression:
        return Unlogged(default.name, reason=default.reason)
    tokens = expression_tokens(default.expression)
    doubts = {column.name: _doubt(column, types) for column in known}
    (target,) = (column for column in definition.columns if column.name == default.name)
    printed = f"generated as {printed_expression(default.expression)}"
    try:
        mode = ConversionMode(options=types, mariadb=True)
        tree, how = recomputed(target, tokens, known, mode)
    except UnknownValueError as error:
        by_name = {column.name.casefold(): column for column in known}
        words = {token.text.casefold() for token in tokens}
        names = [column.name for name, column in by_name.items() if name in words]
        sources = {name: doubts[name] for name in names}
        if depends_on_session(tokens, by_name):
            return Unlogged(default.name, reason=f"{printed}: {error}")
        reason = f"{printed}: {error}{_about_dates(sources)}"
        return Unlogged(default.name, sources=sources, reason=reason)
    reads = frozenset(columns_of(json.loads(tree)))
    sources = {name: doubts[name] for name in reads}
    uncertain = "whose values cannot be computed with certainty for every row"
    reason = f"{printed}, {uncertain}{_about_dates(sources)}"
    return Unlogged(default.name, reads, partial(_computed, tree, how, kind), sources, reason)


def _about_dates(sources: Mapping[str, Doubt]) -> str:
    if "date" not in sources.values():
        return ""
    return "; zero_dates: string and a full refresh distinguish NULL dates from zero dates"


def _computed(
    expression: str, how: str, kind: st.DataType, source: ColumnSource
) -> tuple[Column, Column]:
    value, is_certain = generated_value(expression, source)
    stored, is_known = certainly_converted(value, how, kind)
    return stored, is_certain & is_known


def _doubt(column: ColumnDefinition, types: TypeOptions) -> Doubt:
    """Return the other source values that gold's value of a column may stand for."""
    if column.type in ZERO_DATE_TYPES:
        return "text" if types.zero_dates == "string" else "date"
    if column.type in (ColumnType.FLOAT, ColumnType.DOUBLE):
        return "real"
    is_text = column.type in TEXT_TYPES and column.collation != BINARY_COLLATION
    return "text" if is_text else ""


def _bases(one: Unlogged, earlier: Mapping[str, Unlogged]) -> Mapping[str, Doubt] | None:
    """Return the columns that a value depends on in the end: those that are not computed."""
    bases: dict[str, Doubt] = {}
    for name, doubt in (one.sources or {}).items():
        below = earlier[name].sources if name in earlier else {name: doubt}
        if below is None:
            return None
        bases.update(below)
    return None if one.sources is None else bases


def completed(changes: DataFrame, left_out: LeftOut) -> DataFrame:
    """Return the changes with the generated columns that can be computed from their own images."""
    if left_out.undeclared and "__gtid" not in changes.columns:  # only changes by foreign keys
        changes = changes.withColumn("__gtid", sf.lit(None).cast("string"))
    if not left_out.unlogged:
        return changes
    names, images = image_type(changes.schema).names, [_Image(s, left_out) for s in _SIDES]
    frame = changes
    for stage in _stages(left_out.unlogged):
        frame = frame.withColumns(
            dict(c for one in stage for im in images for c in im.computed(one))
        )
    frame = frame.withColumns(dict(column for image in images for column in image.whole(names)))
    return frame.select(*changes.columns)


def _stages(unlogged: Sequence[Unlogged]) -> Iterator[Sequence[Unlogged]]:
    """Yield the generated columns in groups, each of which depends on earlier groups only.

    Each group is one projection: an expression that contained those of the columns it depends on
    would grow exponentially, and the optimizer's time with it.
    """
    left = {one.name: one for one in unlogged}
    while left:
        stage = [one for one in left.values() if one.reads.isdisjoint(left)]
        yield stage
        for one in stage:
            del left[one.name]


class _Image:
    """One image of a change, with the columns that it leaves out if these can be computed.

    A generated column's value, and whether it is there, are columns of their own until the image is
    whole.
    """

    def __init__(self, side: str, left_out: LeftOut) -> None:
        self.side = side
        self.left_out = left_out
        self.places = {one.name: place for place, one in enumerate(left_out.unlogged)}

    def computed(self, one: Unlogged) -> Iterator[tuple[str, Column]]:
        """Yield a generated column's value, and whether it is there, with their names."""
        there = ~is_left_out(self.side, one.name)
        value = sf.when(there, self._logged(one.name))
        if one.value is not None:
            found, is_certain = one.value(self._value)
            has = (self._has(name) for name in sorted(one.reads))
            is_known = reduce(Column.__and__, has, is_certain)
            value, there = value.when(is_known, found), there | is_known
        yield self._name("value", one.name), value
        yield self._name("has", one.name), there

    def whole(self, names: Sequence[str]) -> Iterator[tuple[str, Column]]:
        """Yield the image, and the columns that it still leaves out."""
        fields = (
            self._value(name) if name in self.places else self._logged(name) for name in names
        )
        whole = sf.struct(*(field.alias(name) for field, name in zip(fields, names, strict=True)))
        yield self.side, sf.when(sf.col(self.side).isNotNull(), whole)
        absent = f"__absent_{self.side}"
        filled = (
            sf.when(is_left_out(self.side, name) & self._has(name), sf.lit(name))
            for name in self.places
        )
        left = sf.array_except(absent, sf.array_compact(sf.array(*filled)))
        yield absent, sf.when(sf.size(left) > 0, left)

    def _name(self, what: str, name: str) -> str:
        return f"__{what}_{self.side}_{self.places[name]}"

    def _logged(self, name: str) -> Column:
        return sf.col(self.side).getField(name)

    def _value(self, name: str) -> Column:
        if name in self.places:
            return sf.col(self._name("value", name))
        return self._logged(name) if self.side == "before" else whole_after(name, self.left_out)

    def _has(self, name: str) -> Column:
        if name in self.places:
            return sf.col(self._name("has", name))
        there = ~is_left_out(self.side, name)
        if self.side == "before":
            return there
        there |= (sf.col("__op") == "update") & ~is_left_out("before", name)
        return there | (sf.col("__op") == "insert") if name in self.left_out.defaults else there
