"""A table's cells as a real server prints them, without a client's conversions."""

from __future__ import annotations

import pickle
from collections.abc import Collection, Sequence
from typing import Any

import pyarrow as pa

from decoder import TableDefinition, TypeOptions
from decoder.columns.registry import row_type
from decoder.model.definition import ColumnDefinition
from pipeline.seed.dumps import DumpedTable
from pipeline.seed.dumps.model import created
from pipeline.seed.jdbc import JdbcSource
from pipeline.seed.selection import SESSION, select_expression
from pipeline.source.server.login import Login
from pipeline.source.server.version import server_version
from tests.support.servers.server import Server
from tests.support.zoo.zoo_rows import ZOO


def selected_cells(server: Server, definition: TableDefinition) -> list[Any]:
    """Return an array of cells for each column, rows in the order of `id`."""
    expressions = ", ".join(select_expression(column) for column in definition.columns)
    with server.connect(database=ZOO, conv={}) as connection, connection.cursor() as cursor:
        cursor.execute(SESSION)
        cursor.execute(f"SELECT {expressions} FROM {definition.table} ORDER BY id")
        rows = cursor.fetchall()
    return [pa.array(values, pa.binary()) for values in zip(*rows, strict=True)]


def cells_through_spark(server: Server, definition: TableDefinition) -> list[tuple[Any, ...]]:
    """Return the table's rows, in any order, as the server returns them to Spark's wrapped query.

    optimizer_switch asks the server to materialise the inner query in a temporary table, whose
    columns would be too narrow and truncate values; the seed's session settings have to prevent
    that.
    """
    expressions = ", ".join(
        f"{select_expression(column)} AS c{n}" for n, column in enumerate(definition.columns)
    )
    with server.connect(database=ZOO, conv={}) as connection, connection.cursor() as cursor:
        source = JdbcSource(Login("127.0.0.1", "root", server.port), server_version(connection))
        cursor.execute("SET optimizer_switch = 'derived_merge=off'")
        cursor.execute(f"SET {source.options['sessionVariables']}")
        cursor.execute(f"SELECT * FROM (SELECT {expressions} FROM {definition.table}) AS chunk")
        return list(cursor.fetchall())


def assert_whole_through_spark(server: Server, definition: TableDefinition) -> None:
    """Fail if a row differs from `selected_cells`."""
    found = set(cells_through_spark(server, definition))
    cells = [column.to_pylist() for column in selected_cells(server, definition)]
    assert found == set(zip(*cells, strict=True)), definition.table


def assert_read_as_logged(
    definition: TableDefinition,
    logged: Sequence[Any],
    batches: Sequence[Any],
    left_out: Collection[str] = (),
) -> None:
    """Fail with the first values that differ from the decoder's, rows in the same order.

    Columns in `left_out` are not compared.
    """
    read = pa.Table.from_batches(batches)
    read.validate(full=True)
    fields = list(row_type(definition, TypeOptions()))
    assert read.schema.names == [field.name for field in fields]
    for name, ours, theirs in zip(read.schema.names, read.columns, logged, strict=True):
        if name not in left_out:
            assert ours.type == theirs.type
            assert differences(name, ours.to_pylist(), theirs.to_pylist())[:5] == []


def differences(
    name: str, ours: Sequence[Any], theirs: Sequence[Any]
) -> list[tuple[str, int, Any, Any]]:
    """Return where two columns' values differ; −0.0 and 0.0 are different."""
    return [
        (name, row + 1, one, other)
        for row, (one, other) in enumerate(zip(ours, theirs, strict=True))
        if repr(one) != repr(other)
    ]


def all_columns(table: DumpedTable) -> tuple[ColumnDefinition, ...]:
    """Return the columns declared by the table's CREATE TABLE."""
    effect = created(table.statement, table.schema, table.sql_mode)
    assert effect is not None
    return effect.definition.columns


def held_columns(table: DumpedTable) -> list[ColumnDefinition]:
    """Return the columns that the dump's rows contain."""
    lacks = table.lacks(all_columns(table))
    return [column for column in all_columns(table) if column.name not in lacks]


def rows_of(table: DumpedTable) -> list[list[bytes | None]]:
    """Return the table's rows as cells, each chunk read as a worker reads it."""
    columns = held_columns(table)
    found: list[list[bytes | None]] = []
    for chunk in pickle.loads(pickle.dumps(tuple(table.chunks))):
        for cells in chunk.cells(columns):
            found += [list(row) for row in zip(*(one.to_pylist() for one in cells), strict=True)]
    return found
