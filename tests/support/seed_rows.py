"""A table's cells as a real server prints them, without a client's conversions."""

from __future__ import annotations

from typing import Any

import pyarrow as pa

from decoder.definition import TableDefinition
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
