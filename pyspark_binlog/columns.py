"""The columns of the DataFrame: silver's, with every column that a table has had in the files."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence
from functools import reduce

import pyarrow as pa
from pyarrow import types as kinds

from decoder import TableDefinition, TypeOptions, schemas
from decoder.columns import row_type
from pipeline.errors import SettingsError

IMAGES = ("before", "after")
_NAMES = ("__schema", "__table")
_JSON = pa.string()
_INTEGER_DIGITS = {pa.int8(): 3, pa.int16(): 5, pa.int32(): 10, pa.int64(): 19}
_MOST_DIGITS = 38
_PLAIN_SCALE = 6
_REMEDY = "Give the column's type with .schema(…), or leave it out (option columns)."


def envelope_schema(images: Sequence[str]) -> pa.Schema:
    """Return the columns of the changes of all tables, whose images are JSON."""
    names = [pa.field(name, pa.string()) for name in _NAMES]
    rows = [pa.field(image, _JSON) for image in images]
    return _nullable([*schemas.CHANGE_FIELDS, *names, *rows])


def table_schema(row: pa.StructType, images: Sequence[str]) -> pa.Schema:
    """Return the columns of one table's changes, whose images have the type `row`."""
    return _nullable([*schemas.CHANGE_FIELDS, *(pa.field(image, row) for image in images)])


def _nullable(fields: Iterable[pa.Field]) -> pa.Schema:
    """Return a schema of nullable fields, as silver's are."""
    return pa.schema([field.with_nullable(True) for field in fields])


def require_columns(schema: pa.Schema, *, typed: bool) -> None:
    """Raise SettingsError if the schema that the user gave is not a schema of changes.

    `typed`: of one table, so that images are structs.
    """
    offered = envelope_schema(IMAGES).names
    for field in schema:
        if field.name not in offered or (typed and field.name in _NAMES):
            raise SettingsError(
                f"the schema has a column {field.name}, which changes do not have.",
                key="schema",
                remedy=f"Columns: {', '.join(n for n in offered if not (typed and n in _NAMES))}.",
            )
        if field.name in IMAGES and kinds.is_struct(field.type) != typed:
            form = "a struct of the table's columns" if typed else "a string"
            raise SettingsError(f"{field.name} is {form}.", key="schema")


def united(
    definitions: Sequence[TableDefinition], types: TypeOptions, chosen: Collection[str] | None
) -> pa.StructType:
    """Return the type of rows under any of a table's definitions, which are in log order.

    Columns are in the last definition's order, those that were dropped before it at the end; or
    those that are `chosen`. Raises SettingsError if a column had two types that no single one
    holds, or if there is no such column.
    """
    rows = [row_type(definition, types) for definition in definitions]
    names = list(dict.fromkeys(field.name for row in reversed(rows) for field in row))
    table = str(definitions[-1])
    for name in chosen or ():
        if name not in names:
            raise SettingsError(
                f"{table} has no column {name}.",
                key="columns",
                remedy=f"Its columns: {', '.join(names)}.",
            )
    return pa.struct([pa.field(name, _type_of(name, rows, table)) for name in chosen or names])


def _type_of(name: str, rows: Iterable[pa.StructType], table: str) -> pa.DataType:
    found = [row.field(name).type for row in rows if row.get_field_index(name) >= 0]

    def joined(one: pa.DataType, other: pa.DataType) -> pa.DataType:
        both = common_type(one, other)
        if both is None:
            raise SettingsError(
                f"column {name} of {table} was {one} and {other}, and no type holds both.",
                key="table",
                remedy=_REMEDY,
            )
        return both

    return reduce(joined, found)


def common_type(one: pa.DataType, other: pa.DataType) -> pa.DataType | None:
    """Return the type that holds every value of both exactly; None if there is none.

    Numbers widen; all other types have only text in common, which is exact for each.
    """
    if one == other:
        return one
    if {one, other} == {pa.float32(), pa.float64()}:
        return pa.float64()
    if one in _INTEGER_DIGITS and other in _INTEGER_DIGITS:
        return max(one, other, key=lambda kind: _INTEGER_DIGITS[kind])
    if _is_exact(one) and _is_exact(other):
        (whole, scale), (other_whole, other_scale) = _digits(one), _digits(other)
        scale, whole = max(scale, other_scale), max(whole, other_whole)
        return pa.decimal128(whole + scale, scale) if whole + scale <= _MOST_DIGITS else pa.string()
    return pa.string() if _has_text(one) and _has_text(other) else None


def holds(kind: pa.DataType, other: pa.DataType) -> bool:
    """Return True if Arrow casts each value of `other` to `kind` exactly, or refuses it."""
    return common_type(kind, other) == kind or (_is_exact(kind) and _is_exact(other))


def decimal_text(cells: pa.Array) -> pa.Array:
    """Return decimals as MySQL writes them; with more than six digits after the point, Arrow has
    0.00000001 as 1E-8."""
    if cells.type.scale <= _PLAIN_SCALE:
        return cells.cast(pa.string())
    return pa.array([None if v is None else f"{v:f}" for v in cells.to_pylist()], pa.string())


def _is_exact(kind: pa.DataType) -> bool:
    return kind in _INTEGER_DIGITS or kinds.is_decimal(kind)


def _digits(kind: pa.DataType) -> tuple[int, int]:
    """Return the number of digits before and after the decimal point."""
    if kind in _INTEGER_DIGITS:
        return _INTEGER_DIGITS[kind], 0
    return kind.precision - kind.scale, kind.scale


def _has_text(kind: pa.DataType) -> bool:
    """Return True if a value's text is MySQL's, as `decimal_text` writes decimals."""
    return kinds.is_string(kind) or _is_exact(kind) or kinds.is_date(kind)
