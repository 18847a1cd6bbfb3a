"""Create the items of one table: it is created, changed, emptied or dropped."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from decoder import TableDefinition
from pipeline.schema_history.alter.items import ItemKind, TimelineItem
from pipeline.schema_history.ddl.effects import TableName
from pipeline.schema_history.ddl.model import TableModel
from pipeline.schema_history.timeline.logged_statement import LoggedStatement, TimelineOptions
from pipeline.schema_history.timeline.tables import TableStates


class TableItems:
    """A builder of items, added to `tables` by each table's state; `options` selects the tables."""

    def __init__(self, tables: TableStates, options: TimelineOptions) -> None:
        self._tables = tables
        self._options = options

    def _wanted(self, name: TableName) -> bool:
        return self._options.wanted(name.schema, name.table)

    def _end(
        self, statement: LoggedStatement, name: TableName, moved_to: TableName | None = None
    ) -> None:
        """Drop a table, or move its rows to another name."""
        table = self._tables[name]
        if table.unseen:
            self._log(statement, name, "declared")
        elif table.exists and moved_to is not None:
            self._log(statement, name, "moved", other=moved_to)
        elif table.exists:
            self._log(statement, name, "drop")
        else:
            self._mentioned(statement, name)

    def _truncate(self, statement: LoggedStatement, name: TableName) -> None:
        table = self._tables[name]
        if table.unseen:
            self._log(statement, name, "create", definition=table.definition, model=table.model)
        elif table.exists:
            self._log(statement, name, "truncate")
        else:
            self._mentioned(statement, name)

    def _rows_not_logged(self, statement: LoggedStatement, name: TableName, reason: str) -> None:
        """Record that the table's rows have changed without being logged."""
        if self._tables[name].exists and not self._tables[name].held:
            self._log(statement, name, "rows_not_logged", reason=reason)
        else:
            self._mentioned(statement, name)

    def _mentioned(self, statement: LoggedStatement, name: TableName) -> None:
        """Record a statement on an unknown or held table."""
        self._log(statement, name, "mentioned")

    def _unsupported(
        self,
        statement: LoggedStatement,
        name: TableName,
        reason: str,
        *,
        creates: bool = False,
        model: TableModel | None = None,
    ) -> None:
        """Hold the table, if it exists."""
        if self._tables[name].exists or creates:
            self._log(statement, name, "unsupported", reason=reason, model=model)
        else:
            self._mentioned(statement, name)

    def _log(
        self,
        statement: LoggedStatement,
        name: TableName,
        kind: ItemKind,
        *,
        definition: TableDefinition | None = None,
        **fields: Any,
    ) -> None:
        """Add an item; a table that is created without a definition gets the first table map's."""
        version = self._tables[name].versions.declared(definition) if definition else None
        self._tables.add(
            TimelineItem(
                *statement.position,
                name.schema,
                name.table,
                kind,
                version=version,
                definition=definition,
                statement=statement.query or None,
                **fields,
            )
        )


def named(definition: TableDefinition, name: TableName) -> TableDefinition:
    """Return the definition under another table name."""
    return replace(definition, schema=name.schema, table=name.table)
