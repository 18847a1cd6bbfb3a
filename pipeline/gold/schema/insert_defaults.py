"""Meaning of columns that row images leave out, in a part of the log."""

from __future__ import annotations

import pyarrow as pa
from pyspark.sql import functions as sf

from decoder import TypeOptions
from decoder.columns.registry import row_type
from decoder.constants import ColumnType
from decoder.model.definition import ColumnDefinition
from pipeline.catalog.ddl.defaults import python_value
from pipeline.catalog.ddl.model import ColumnDefault
from pipeline.gold.changes.images import LeftOut
from pipeline.gold.changes.steps import Rows
from pipeline.gold.schema.alter_table import typed
from pipeline.gold.schema.unlogged import unlogged_columns
from pipeline.gold.table.gold_table import gold_schema

NOT_DECLARED = "no statement in the log declares its DEFAULT"


def left_out(part: Rows, types: TypeOptions, *, lenient: bool = False) -> LeftOut:
    """Return the meaning under the definition and DEFAULTs that are in force in the part."""
    schema = gold_schema(part.definition, types)
    kinds = {field.name: field.type for field in row_type(part.definition, types)}
    declared = {default.name: default for default in part.model.defaults} if part.model else {}
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
        unlogged=unlogged_columns(part.definition, declared, schema, types),
        undeclared=frozenset(
            column.name
            for column in part.definition.columns
            # MariaDB's generated columns are always nullable.
            if column.nullable and column.name not in declared
        ),
        lenient=lenient,
    )


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
