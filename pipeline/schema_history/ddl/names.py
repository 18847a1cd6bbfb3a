"""Parse table names in statements, qualified by the session's default schema."""

from __future__ import annotations

from pipeline.schema_history.ddl.cursor import ReadError, TokenCursor
from pipeline.schema_history.ddl.effects import TableName


def read_name(cursor: TokenCursor, schema: str | None) -> TableName:
    """Read a name: `table`, `schema.table`, or `.table`. Raises `ReadError`."""
    table = "" if cursor.peek().is_sign(".") else cursor.name()
    if cursor.accept_sign("."):
        schema, table = table or schema, cursor.name()
    if not schema:
        raise ReadError(f"table {table} is named without a schema, and the session has none")
    return TableName(schema, table)


def read_names(cursor: TokenCursor, schema: str | None) -> list[TableName]:
    """Read one or more names separated by commas."""
    names = [read_name(cursor, schema)]
    while cursor.accept_sign(","):
        names.append(read_name(cursor, schema))
    return names
