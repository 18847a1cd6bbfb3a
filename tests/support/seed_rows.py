"""A table's cells as a real server prints them, without a client's conversions."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from typing import Any

import pyarrow as pa

from decoder.columns.registry import row_type
from decoder.definition import TableDefinition
from decoder.options import TypeOptions
from pipeline.seed.select import SESSION, select_expression
from tests.support.server import Server
from tests.support.zoo_rows import ZOO


def selected_cells(server: Server, definition: TableDefinition) -> list[Any]:
    """A cell array for each column, of the rows in the order of `id`."""
    expressions = ", ".join(select_expression(column) for column in definition.columns)
    with server.connect(database=ZOO, conv={}) as connection, connection.cursor() as cursor:
        cursor.execute(SESSION)
        cursor.execute(f"SELECT {expressions} FROM {definition.table} ORDER BY id")
        rows = cursor.fetchall()
    return [pa.array(values, pa.binary()) for values in zip(*rows, strict=True)]


def assert_read_as_logged(
    definition: TableDefinition,
    logged: Sequence[Any],
    batches: Sequence[Any],
    left_out: Collection[str] = (),
) -> None:
    """Fails with the first values of rows that are not what the decoder gave, in the same order,
    but for columns that are `left_out`."""
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
    """Where two columns' values are not the same, −0.0 and 0.0 told apart."""
    return [
        (name, row + 1, one, other)
        for row, (one, other) in enumerate(zip(ours, theirs, strict=True))
        if repr(one) != repr(other)
    ]
