"""Create, in a catalog, a view of each table's changes across all its definitions.

Silver keeps the changes under each definition in a separate table, `changes__…__v<N>`, so that a
row is always read as it was written. The view `changes__…` combines them for users: columns of the
newest definition first, then dropped ones; NULL where a definition lacks a column. A column whose
type changed gets a type that holds all values, or else text. The view is replaced when a definition
gets its first changes; Binlake itself does not read it.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from functools import reduce

from pyspark.errors import PySparkException
from pyspark.sql import SparkSession, types as st

from decoder import schemas
from pipeline.lake import Lake, delta
from pipeline.lake.lazy_spark import Spark, started
from pipeline.lake.sql_text import quoted
from pipeline.schema_history import TableName

IMAGES = ("before", "after")
VERSION = "__version"
"""The version of the definition that a change was logged under."""
_COMMENT_PREFIX = "definitions "
"""The start of a view's comment, before its list of versions."""
_INTEGERS = (st.ByteType, st.ShortType, st.IntegerType, st.LongType)
_DIGITS = (3, 5, 10, 19)


def write_views(spark: Spark, lake: Lake, touched: Iterable[tuple[TableName, int]]) -> list[str]:
    """Create or replace the views of tables with changes in a batch, under these versions.

    Return sentences about views that could not be created: a catalog may not support views.
    """
    versions: dict[TableName, set[int]] = {}
    for name, version in touched:
        versions.setdefault(name, set()).add(version)
    failures = (_write(spark, lake, name, found) for name, found in versions.items())
    return [sentence for sentence in failures if sentence]


def drop_view(spark: Spark, lake: Lake, schema: str, table: str) -> None:
    """Drop a table's view, which is created again with the next changes, whose types may differ."""
    if view := lake.all_changes(schema, table):
        try:
            started(spark).sql(f"DROP VIEW IF EXISTS {view}")
        except PySparkException:
            return  # the catalog has no views, so there is none


def _write(spark: Spark, lake: Lake, name: TableName, versions: set[int]) -> str | None:
    view = lake.all_changes(name.schema, name.table)
    if view is None:
        return None
    try:
        session = started(spark)
        there = _versions(session, view)
        if there.issuperset(versions):
            return None
        # A definition without rows has no table.
        places = {
            v: lake.changes(name.schema, name.table, v) for v in range(1, max(versions | there) + 1)
        }
        found = {
            v: schema
            for v, t in places.items()
            # After a full refresh, tables lack their image columns until rows are written again.
            if delta.exists(session, t)
            and "after" in (schema := delta.read(session, t).schema).names
        }
        session.sql(statement(view, places, found))
    except PySparkException as error:
        reason = str(error).partition("\n")[0]
        return f"{name}: the view of its changes could not be created: {reason}"
    return None


def _versions(spark: SparkSession, view: str) -> set[int]:
    """Return the versions in the view; none if there is no view."""
    if not spark.catalog.tableExists(view):
        return set()
    comment = spark.catalog.getTable(view).description or ""
    return {int(number) for number in re.findall(r"\d+", comment.removeprefix(_COMMENT_PREFIX))}


def statement(view: str, tables: Mapping[int, str], versions: Mapping[int, st.StructType]) -> str:
    """Return the CREATE VIEW over the tables of these versions, with the given schemas."""
    columns = _columns([_image(schema) for _, schema in sorted(versions.items(), reverse=True)])
    parts = [
        f"SELECT {', '.join(_selected(version, _image(schema), columns))} FROM {tables[version]}"
        for version, schema in versions.items()
    ]
    comment = _COMMENT_PREFIX + ", ".join(map(str, versions))
    return f"CREATE OR REPLACE VIEW {view} COMMENT '{comment}' AS {' UNION ALL '.join(parts)}"


def _image(schema: st.StructType) -> st.StructType:
    """Return the schema of the table's columns."""
    image = schema["after"].dataType
    assert isinstance(image, st.StructType)
    return image


def _columns(images: Iterable[st.StructType]) -> dict[str, st.DataType]:
    """Return all columns, the first image's first, each with a type that holds all its values.

    Names have the capitals of the first image that has them: to Spark, these make no difference.
    """
    names: dict[str, str] = {}
    found: dict[str, list[st.DataType]] = {}
    for image in images:
        for field in image.fields:
            name = names.setdefault(field.name.lower(), field.name)
            found.setdefault(name, []).append(field.dataType)
    return {name: reduce(wider, kinds) for name, kinds in found.items()}


def wider(one: st.DataType, other: st.DataType) -> st.DataType:
    """Return a type that holds all values of both: numbers widen, other types become text."""
    if one == other:
        return one
    here, there = _digits(one), _digits(other)
    if here is None or there is None:
        return st.StringType()
    if isinstance(one, _INTEGERS) and isinstance(other, _INTEGERS):
        return max(one, other, key=lambda kind: _INTEGERS.index(type(kind)))
    whole, scale = max(here[0], there[0]), max(here[1], there[1])
    fits = whole + scale <= st.DecimalType(38).precision
    return st.DecimalType(whole + scale, scale) if fits else st.StringType()


def _digits(kind: st.DataType) -> tuple[int, int] | None:
    """Return the most digits before and after a number's point; None for other types."""
    if isinstance(kind, st.DecimalType):
        return kind.precision - kind.scale, kind.scale
    if isinstance(kind, _INTEGERS):
        return _DIGITS[_INTEGERS.index(type(kind))], 0
    return None


def _selected(
    version: int, image: st.StructType, columns: Mapping[str, st.DataType]
) -> Iterable[str]:
    own = {field.name.lower(): field.dataType for field in image.fields}
    yield from (quoted(field.name) for field in schemas.CHANGE_FIELDS)
    yield f"{version} AS {quoted(VERSION)}"
    for side in IMAGES:
        values = ", ".join(
            f"{_value(side, name, own.get(name.lower()), kind)} AS {quoted(name)}"
            for name, kind in columns.items()
        )
        yield f"CASE WHEN {side} IS NOT NULL THEN struct({values}) END AS {side}"


def _value(side: str, name: str, own: st.DataType | None, kind: st.DataType) -> str:
    if own is None:
        return f"CAST(NULL AS {kind.simpleString()})"
    value = f"{side}.{quoted(name)}"
    if own == kind:
        return value
    return f"hex({value})" if own == st.BinaryType() else f"CAST({value} AS {kind.simpleString()})"
