"""Every table's definition over time: statements and table maps, taken in the order of the log.

Table maps are the authority on what a table is, DDL on what became of its rows; where the two
contradict each other the table is `unsupported` from there, never guessed at.
"""

from __future__ import annotations

from collections.abc import Iterable

from decoder.definition import TableDefinition
from pipeline.catalog.ddl import Session, effects
from pipeline.catalog.effects import TableName
from pipeline.catalog.items import ItemKind, Position, TimelineItem
from pipeline.catalog.letter_case import in_lower_case
from pipeline.catalog.logged import CatalogOptions, LoggedStatement
from pipeline.catalog.model import TableModel
from pipeline.catalog.statements import Statements
from pipeline.catalog.tables import Tables, TableState
from pipeline.catalog.temporary import beside_temporary_tables
from pipeline.catalog.versions import difference, fits

__all__ = ["CatalogOptions", "LoggedStatement", "Timeline"]

_Verdict = tuple["ItemKind | None", "str | None"]


class Timeline:
    """Takes a log's statements and table maps in order, and gives what is new in `new`."""

    def __init__(self, past: Iterable[TimelineItem], options: CatalogOptions) -> None:
        self._options = options
        self._tables = Tables(past, options.types)
        self._statements = Statements(self._tables, options)

    @property
    def new(self) -> list[TimelineItem]:
        """The items since the past."""
        return self._tables.new

    @property
    def unreadable(self) -> list[tuple[LoggedStatement, str]]:
        """Statements that may have changed any table, and why they cannot be read."""
        return self._statements.unreadable

    def version(self, definition: TableDefinition) -> int | None:
        """The version that rows under this table map are kept in, if one like it was seen."""
        return self._tables[_name(definition)].versions.shown(definition)

    def table_map(self, position: Position, definition: TableDefinition) -> int:
        """A definition as rows of a replicated table are logged under it; gives its version."""
        name = _name(definition)
        table = self._tables[name]
        version = table.versions.for_table_map(definition, table.version)
        kind, reason = self._verdict(table, definition, version)
        if kind is not None:
            self._tables.add(
                TimelineItem(
                    *position,
                    name.schema,
                    name.table,
                    kind,
                    version,
                    definition,
                    reason=reason,
                    model=self._model(table, definition) if kind == "create" else None,
                )
            )
        return version

    def _model(self, table: TableState, definition: TableDefinition) -> TableModel | None:
        """What DDL told of a table that begins anew since its key is told: that stays."""
        known = table.as_known(definition)
        declared = known is not None and fits(known, definition, self._options.types)
        return table.model if declared else None

    def _verdict(self, table: TableState, definition: TableDefinition, version: int) -> _Verdict:
        """What a table map tells that is new: nothing, for most."""
        settled = version == table.version and version not in table.versions.open
        if not definition.complete_metadata:
            return self._without_names(settled and table.held)
        if not table.exists:
            return "observed", None
        if settled:
            # What is told once more: that there are rows, that the key is the old one after all,
            # and which layout was the last one to be shown.
            told = not table.keys_open and table.versions.last_shown == version
            return (None if table.rows_seen and told else "version"), None
        if table.held:
            return "version", None
        return self._changed(table, definition)

    def _changed(self, table: TableState, definition: TableDefinition) -> _Verdict:
        """What a table map tells of a table that it shows otherwise than it was known."""
        types, known = self._options.types, table.definition
        if known is None:
            return "create", None  # it began empty, and this is what it is
        if table.declared and fits(known, definition, types):
            return "version", None
        with_key = table.as_known(definition)
        if table.keys_open and with_key and fits(with_key, definition, types):
            return "alter" if table.rows_seen else "create", None
        if table.certainly_empty:
            return "create", None  # it begins with what the table map shows
        change = difference(known, definition, types)
        return "unsupported", f"it changed without DDL that explains it: {change}"

    def _without_names(self, known: bool) -> _Verdict:
        if known:
            return None, None
        reason = "the log has no column names and keys of it (binlog_row_metadata is not FULL)"
        return "unsupported", reason

    def statement(self, statement: LoggedStatement) -> None:
        """A statement; those that change no replicated table are nothing."""
        session = Session(
            statement.schema or None,
            statement.sql_mode,
            statement.server_version,
            mariadb=statement.mariadb,
        )
        found = effects(statement.query, session)
        if self._options.folds_names:
            found = [in_lower_case(effect) for effect in found]
        if statement.temporary:
            found = beside_temporary_tables(statement.query, found)
        for number, effect in enumerate(found):
            self._statements.take(statement.later(number), effect)


def _name(definition: TableDefinition) -> TableName:
    return TableName(definition.schema, definition.table)
