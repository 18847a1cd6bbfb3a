"""The rows of a type zoo (see `type_zoo`): decoded from a server's log, and as it selects them."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator
from typing import Any

import pyarrow as pa

import decoder
from decoder import SegmentDecoder, TableDefinition, TypeOptions
from decoder.model.definition import ColumnDefinition
from decoder.rows.row_decoder import Names
from decoder.stream.segment_decoder import Changes, Segment
from pipeline.catalog.timeline.naming import with_logical_types, with_names
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


def names_of(tables: Iterable[Table]) -> Names:
    """What a log lacks, from the tables' statements: types of MariaDB, and where it has no names
    all else. Their schema is utf8mb4."""
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
    """The after images of a log's inserts; `names` are of a log that does not tell them."""
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
    """The table's rows, as columns."""
    expressions = ", ".join(expression(column) for column in definition.columns)
    with server.connect(database=ZOO) as connection, connection.cursor() as cursor:
        cursor.execute("SET time_zone = '+00:00'")
        cursor.execute(f"SELECT {expressions} FROM {definition.table} ORDER BY id")
        return list(zip(*cursor.fetchall(), strict=True))


def differences(
    column: ColumnDefinition, array: Any, server: tuple[Any, ...], document: ReadDocument = Document
) -> Iterator[tuple[str, int, Any, Any]]:
    """Where decoded and selected values are not the same, −0.0 and 0.0 told apart; of JSON what
    `document` makes of the texts."""
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
    """Fails with the first values that are not what the server selects."""
    rows = selected(server, definition)
    found = [
        difference
        for column, array, values in zip(definition.columns, arrays, rows, strict=True)
        for difference in differences(column, array, values, document)
    ]
    assert found[:5] == []
