"""The rows of a type zoo (see `type_zoo`): decoded from a server's log, and as SELECT returns
them.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator
from typing import Any

import pyarrow as pa

import decoder
from decoder import SegmentDecoder, TableDefinition, TypeOptions
from decoder.model.definition import ColumnDefinition, Names
from decoder.model.results import Changes
from decoder.model.segment import Segment
from pipeline.schema_history.timeline.column_names import with_logical_types, with_names
from pipeline.seed.dumps.model import created
from tests.support.servers.server import Server
from tests.support.zoo.server_values import (
    Document,
    ReadDocument,
    decoded_value,
    expression,
    python_value,
)
from tests.support.zoo.type_zoo import Table

ZOO = "type_zoo"

Rows = dict[str, tuple[TableDefinition, list[Any]]]
"""By table: its definition, and its columns as Arrow arrays in table order."""


def name_of(table: Table) -> str:
    """Return the name in the table's CREATE TABLE."""
    return table[0].split()[2]


def log_of(server: Server, tables: Iterable[Table]) -> bytes:
    """Return the bytes of a binary log with these tables' statements."""
    server.execute(f"DROP DATABASE IF EXISTS {ZOO}; CREATE DATABASE {ZOO} CHARACTER SET utf8mb4")
    server.flush_logs()
    log = server.binlogs()[-1]
    with server.connect(database=ZOO) as connection, connection.cursor() as cursor:
        for create, statements in tables:
            for statement in (create, *statements):
                cursor.execute(statement)
    server.flush_logs()
    return log.read_bytes()


def names_of(tables: Iterable[Table]) -> Names:
    """Return what the log does not record, from the tables' statements, in a utf8mb4 schema.

    These are MariaDB's types and, in a log without column names, everything else.
    """
    statements = [one for create, more in tables for one in (create, *more)]
    effects = [created(one, ZOO) for one in statements if one.startswith("CREATE TABLE")]
    known = {effect.name.table: effect.definition for effect in effects if effect is not None}

    def named(shown: TableDefinition, lsn: int, position: int) -> TableDefinition:
        del lsn, position
        if shown.table not in known:
            return shown
        if shown.named:
            return with_logical_types(shown, known[shown.table])
        return with_names(shown, known[shown.table], default_charset="utf8mb4", complete=False)

    return named


def inserted(log: bytes, options: TypeOptions | None = None, *, names: Names | None = None) -> Rows:
    """Return the after images of a log's inserts; `names` supply what the log does not record."""
    batches: dict[str, list[Any]] = {}
    definitions = {}
    for changes in _changes(log, options or TypeOptions(), names):
        if changes.schema == ZOO:
            changes.batch.validate(full=True)
            batches.setdefault(changes.table, []).append(changes.batch.column("after"))
            definitions[changes.table] = changes.definition
    joined = {table: pa.concat_arrays(images) for table, images in batches.items()}
    return {table: (definitions[table], image.flatten()) for table, image in joined.items()}


def _changes(log: bytes, options: TypeOptions, names: Names | None) -> Iterator[Changes]:
    if names is None:
        yield from decoder.read(log, options=options)
        return
    unit = SegmentDecoder(Segment("binlog.000001", 1), options, names=names)
    for result in unit.decode([log]):
        if isinstance(result, Changes):
            yield result
        elif unit.first_fault is not None:
            raise unit.first_fault


def selected(server: Server, definition: TableDefinition) -> list[tuple[Any, ...]]:
    """Select the table's rows, as columns."""
    expressions = ", ".join(expression(column) for column in definition.columns)
    with server.connect(database=ZOO) as connection, connection.cursor() as cursor:
        cursor.execute("SET time_zone = '+00:00'")
        cursor.execute(f"SELECT {expressions} FROM {definition.table} ORDER BY id")
        return list(zip(*cursor.fetchall(), strict=True))


def differences(
    column: ColumnDefinition, array: Any, server: tuple[Any, ...], document: ReadDocument = Document
) -> Iterator[tuple[str, int, Any, Any]]:
    """Return where decoded and selected values differ; −0.0 and 0.0 are different.

    `document` converts JSON text before the comparison.
    """
    assert len(array) == len(server)
    for row, (ours, theirs) in enumerate(zip(array.to_pylist(), server, strict=True)):
        found = decoded_value(column, ours, document)
        expected = python_value(column, array.type, theirs, document)
        signs = isinstance(found, float) and math.copysign(1, found) != math.copysign(1, expected)
        if found != expected or type(found) is not type(expected) or signs:
            yield column.name, row + 1, found, expected


def assert_same(
    server: Server,
    definition: TableDefinition,
    arrays: list[Any],
    document: ReadDocument = Document,
) -> None:
    """Fail with the first values that differ from the server's SELECT."""
    rows = selected(server, definition)
    found = [
        difference
        for column, array, values in zip(definition.columns, arrays, rows, strict=True)
        for difference in differences(column, array, values, document)
    ]
    assert found[:5] == []
