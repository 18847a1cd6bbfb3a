"""Compare gold with the source exactly: columns, types, and every value of every row.

Queries run in a UTC session and select text or hex wherever a client could round a value (see
`server_values`). Values that gold cannot represent, such as impossible dates, are expected to be
NULL.
"""

from __future__ import annotations

import json
import math
import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from decoder.constants import BINARY_COLLATION, ColumnType
from decoder.model.definition import ColumnDefinition
from tests.support.lake.table_rows import read_table
from tests.support.servers.server import Server
from tests.support.zoo.server_values import decoded_value, expression, python_value

if TYPE_CHECKING:
    import pyarrow as pa
    from pyspark.sql import SparkSession

Row = tuple[Any, ...]

SHOWN = 10
"""Number of differences that a failure shows."""

_INTEGERS = {
    "tinyint": ("tinyint", "smallint"),
    "smallint": ("smallint", "int"),
    "mediumint": ("int", "int"),
    "int": ("int", "bigint"),
    "bigint": ("bigint", "decimal(20,0)"),
}
"""MySQL's type names to Spark's, signed and unsigned."""
_SPARK_TYPES = {
    "float": "float",
    "double": "double",
    "date": "date",
    "datetime": "timestamp_ntz",
    "timestamp": "timestamp",
    "time": "string",
    "year": "smallint",
    "enum": "string",
    "set": "string",
    "json": "string",
    "vector": "array<float>",
    **dict.fromkeys(("binary", "varbinary", "blob"), "binary"),
    **dict.fromkeys(("tinyblob", "mediumblob", "longblob"), "binary"),
    **dict.fromkeys(("char", "varchar", "text", "uuid", "inet4", "inet6"), "string"),
    **dict.fromkeys(("tinytext", "mediumtext", "longtext"), "string"),
}
_SPATIAL = re.compile("geometry|point|linestring|polygon|geomcollection|geometrycollection|multi")
_KINDS = {
    "bit": ColumnType.BIT,
    "float": ColumnType.FLOAT,
    "double": ColumnType.DOUBLE,
    "json": ColumnType.JSON,
    "vector": ColumnType.VECTOR,
}


@dataclass(frozen=True, slots=True)
class SourceColumn:
    """A column in information_schema: `data_type` is the bare type, `column_type` the full one."""

    name: str
    data_type: str
    column_type: str

    @property
    def definition(self) -> ColumnDefinition:
        """Return the part of a definition that is needed to select its values."""
        kind = _KINDS.get(self.data_type, ColumnType.VARCHAR)
        if _SPATIAL.match(self.data_type):
            kind = ColumnType.GEOMETRY
        binary = self.spark_type == "binary"
        return ColumnDefinition(self.name, kind, collation=BINARY_COLLATION if binary else None)

    @property
    def expression(self) -> str:
        """Return the expression to select."""
        return expression(self.definition)

    @property
    def spark_type(self) -> str:
        """Return the type that gold must have, by the table in the design."""
        numbers = [int(n) for n in re.findall(r"\d+", self.column_type.partition(")")[0])]
        if self.data_type in _INTEGERS:
            return _INTEGERS[self.data_type]["unsigned" in self.column_type]
        if self.data_type == "decimal":
            return f"decimal({numbers[0]},{numbers[1]})" if numbers[0] <= 38 else "string"
        if self.data_type == "bit":
            return {1: "boolean", 64: "decimal(20,0)"}.get(numbers[0], "bigint")
        if _SPATIAL.match(self.data_type):
            return "struct<srid:int,wkb:binary>"
        return _SPARK_TYPES[self.data_type]


def assert_gold_equals_source(
    spark: SparkSession,
    server: Server,
    lake: str,
    schema: str,
    table: str,
    *,
    version: int | None = None,
) -> int:
    """Return the number of rows; fail with the first differences between gold and server."""
    from pipeline.lake import Lake

    columns = source_columns(server, schema, table)
    kept, gold = read_table(Lake(lake).gold(schema, table), version)
    found = [(field.name, field.dataType.simpleString()) for field in kept]
    expected = [(column.name, column.spark_type) for column in columns]
    own = [("__lsn", "bigint"), ("__committed_at", "timestamp")]
    assert found == [*expected, *own], f"columns of {schema}.{table}"
    gold = gold.drop_columns([name for name, _ in own])
    rows = source_rows(server, schema, table, columns)
    key = primary_key(server, schema, table) or [column.name for column in columns]
    places = [n for n, column in enumerate(columns) if column.name in key]
    differences = list(compare(columns, places, gold, rows))
    shown = "\n".join(differences[:SHOWN])
    assert not differences, f"{schema}.{table}: {len(differences)} differences\n{shown}"
    return len(rows)


def source_columns(server: Server, schema: str, table: str) -> list[SourceColumn]:
    """Return the table's columns in order, including invisible ones."""
    rows = server.execute(
        "SELECT COLUMN_NAME, DATA_TYPE, COLUMN_TYPE FROM information_schema.COLUMNS"
        " WHERE TABLE_SCHEMA = %s AND TABLE_NAME = %s ORDER BY ORDINAL_POSITION",
        (schema, table),
    )
    assert rows, f"the server has no table {schema}.{table}"
    return [SourceColumn(name, _text(kind), _text(full)) for name, kind, full in rows]


def primary_key(server: Server, schema: str, table: str) -> list[str]:
    """Return the column names of the primary key."""
    rows = server.execute(
        "SELECT COLUMN_NAME FROM information_schema.STATISTICS WHERE TABLE_SCHEMA = %s"
        " AND TABLE_NAME = %s AND INDEX_NAME = 'PRIMARY' ORDER BY SEQ_IN_INDEX",
        (schema, table),
    )
    return [name for (name,) in rows]


def source_rows(
    server: Server, schema: str, table: str, columns: Sequence[SourceColumn]
) -> list[tuple[Any, ...]]:
    """Return every row, by the columns' expressions."""
    # PyMySQL interprets % only if arguments are passed, so names may contain it.
    wanted = ", ".join(_quoted(column.expression, column.name) for column in columns)
    with server.connect() as connection, connection.cursor() as cursor:
        cursor.execute("SET time_zone = '+00:00'")
        cursor.execute(f"SELECT {wanted} FROM {_name(schema)}.{_name(table)}")
        return list(cursor.fetchall())


def compare(
    columns: Sequence[SourceColumn],
    key: Sequence[int],
    gold: pa.Table,
    rows: Iterable[tuple[Any, ...]],
) -> Iterator[str]:
    """Return a sentence for each row or value that differs; `key` are column indexes.

    Duplicate rows count: a table without a key (`key`: all columns) may repeat a row.
    """
    definitions = [column.definition for column in columns]
    kinds = [field.type for field in gold.schema]
    theirs = _by_key((tuple(map(python_value, definitions, kinds, raw)) for raw in rows), key)
    values = zip(*(column.to_pylist() for column in gold.columns), strict=True)
    ours = _by_key((tuple(map(decoded_value, definitions, row)) for row in values), key)
    for at in dict.fromkeys((*theirs, *ours)):
        yield from _of_one_key(columns, at, ours.get(at, []), theirs.get(at, []))


def _by_key(rows: Iterable[Row], key: Sequence[int]) -> dict[Row, list[Row]]:
    """Group rows by key: several rows if the table has no key or gold is wrong."""
    found: dict[Row, list[Row]] = {}
    for row in rows:
        found.setdefault(_key(row, key), []).append(row)
    return found


def _of_one_key(
    columns: Sequence[SourceColumn], at: Row, ours: list[Row], theirs: list[Row]
) -> Iterator[str]:
    """Return the differences between the rows of one key, as multisets."""
    if not ours:
        yield f"key {at!r} is missing in gold{_times(theirs)}"
    elif not theirs:
        yield f"key {at!r} is in gold only{_times(ours)}"
    elif len(ours) != len(theirs):
        yield f"key {at!r} is in gold {len(ours)} times, in the source {len(theirs)} times"
    else:
        for mine, other in zip(*_unmatched(ours, theirs), strict=True):
            for column, value, expected in zip(columns, mine, other, strict=True):
                if not _same(value, expected):
                    name = f"{column.name} {column.column_type}"
                    yield f"key {at!r}, {name}: gold has {value!r}, the source {expected!r}"


def _unmatched(ours: list[Row], theirs: list[Row]) -> tuple[list[Row], list[Row]]:
    """Return the rest of both after pairing equal rows."""
    left = list(theirs)
    alone = []
    for row in ours:
        pair = next((n for n, other in enumerate(left) if all(map(_same, row, other))), None)
        if pair is None:
            alone.append(row)
        else:
            del left[pair]
    return alone, left


def _times(rows: list[Row]) -> str:
    return f", {len(rows)} times" if len(rows) > 1 else ""


def _key(row: Row, key: Sequence[int]) -> Row:
    """Return the key's values; dicts and lists, which are never keys on a server, as text."""
    values = [row[place] for place in key]
    return tuple(_text_of(v) if isinstance(v, (dict, list)) else v for v in values)


def _text_of(value: Any) -> str:
    return json.dumps(value, sort_keys=True, default=repr)


def _same(one: Any, other: Any) -> bool:
    if isinstance(one, float) and isinstance(other, float):
        return one == other and math.copysign(1, one) == math.copysign(1, other)
    return type(one) is type(other) and bool(one == other)


def _text(value: Any) -> str:
    """Decode text that information_schema returns as bytes."""
    return value.decode() if isinstance(value, bytes) else str(value)


def _name(name: str) -> str:
    return "`" + name.replace("`", "``") + "`"


def _quoted(sql: str, name: str) -> str:
    """Return the expression with its column name quoted, whatever it contains."""
    return sql.replace(f"`{name}`", _name(name))
