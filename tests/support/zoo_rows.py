"""The rows of a type zoo (see `type_zoo`): decoded from a server's log, and as it selects them."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator
from typing import Any

import pyarrow as pa

import decoder
from decoder.definition import ColumnDefinition, TableDefinition
from decoder.options import TypeOptions
from tests.support.server import Server
from tests.support.server_values import decoded_value, expression, python_value
from tests.support.type_zoo import Table

ZOO = "type_zoo"

Rows = dict[str, tuple[TableDefinition, list[Any]]]
"""By table: its definition, and its columns as Arrow arrays in the table's order."""


def name_of(table: Table) -> str:
    """The name in its CREATE TABLE."""
    return table[0].split()[2]


def log_of(server: Server, tables: Iterable[Table]) -> bytes:
    """The bytes of a binary log that holds these tables' statements."""
    server.execute(f"DROP DATABASE IF EXISTS {ZOO}; CREATE DATABASE {ZOO} CHARACTER SET utf8mb4")
    server.flush_logs()
    log = server.binlogs()[-1]
    with server.connect(database=ZOO) as connection, connection.cursor() as cursor:
        for create, statements in tables:
            for statement in (create, *statements):
                cursor.execute(statement)
    server.flush_logs()
    return log.read_bytes()


def inserted(log: bytes, options: TypeOptions | None = None) -> Rows:
    """The after images of a log's inserts."""
    batches: dict[str, list[Any]] = {}
    definitions = {}
    for changes in decoder.read(log, options=options or TypeOptions()):
        if changes.schema == ZOO:
            changes.batch.validate(full=True)
            batches.setdefault(changes.table, []).append(changes.batch.column("after"))
            definitions[changes.table] = changes.definition
    joined = {table: pa.concat_arrays(images) for table, images in batches.items()}
    return {table: (definitions[table], image.flatten()) for table, image in joined.items()}


def selected(server: Server, definition: TableDefinition) -> list[tuple[Any, ...]]:
    """The table's rows, as columns."""
    expressions = ", ".join(expression(column) for column in definition.columns)
    with server.connect(database=ZOO) as connection, connection.cursor() as cursor:
        cursor.execute("SET time_zone = '+00:00'")
        cursor.execute(f"SELECT {expressions} FROM {definition.table} ORDER BY id")
        return list(zip(*cursor.fetchall(), strict=True))


def differences(
    column: ColumnDefinition, array: Any, server: tuple[Any, ...]
) -> Iterator[tuple[str, int, Any, Any]]:
    """Where decoded and selected values are not the same, −0.0 and 0.0 told apart."""
    assert len(array) == len(server)
    for row, (ours, theirs) in enumerate(zip(array.to_pylist(), server, strict=True)):
        found = decoded_value(column, ours)
        expected = python_value(column, array.type, theirs)
        signs = isinstance(found, float) and math.copysign(1, found) != math.copysign(1, expected)
        if found != expected or type(found) is not type(expected) or signs:
            yield column.name, row + 1, found, expected


def assert_same(server: Server, definition: TableDefinition, arrays: list[Any]) -> None:
    """Fails with the first values that are not what the server selects."""
    rows = selected(server, definition)
    found = [
        difference
        for column, array, values in zip(definition.columns, arrays, rows, strict=True)
        for difference in differences(column, array, values)
    ]
    assert found[:5] == []
