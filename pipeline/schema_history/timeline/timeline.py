"""Every table's definition over time, from statements and table maps in log order.

Table maps are authoritative for a table's definition, DDL for what happened to its rows; if the two
contradict each other, the table is `unsupported` from there on: definitions are never guessed.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import replace
from typing import NamedTuple

from decoder import TableDefinition
from pipeline.schema_history.alter.items import ItemKind, Position, SeededFrom, TimelineItem
from pipeline.schema_history.alter.layout_versions import difference, fits
from pipeline.schema_history.ddl.ddl import StatementContext, effects
from pipeline.schema_history.ddl.effects import CreateTable, Effect, TableName, Unsupported
from pipeline.schema_history.ddl.logged_effects import in_lower_case, permanent_effects
from pipeline.schema_history.ddl.model import TableModel
from pipeline.schema_history.timeline.column_names import NotNamedError, with_logical_types
from pipeline.schema_history.timeline.definitions_file import TimelineStart
from pipeline.schema_history.timeline.logged_statement import LoggedStatement, TimelineOptions
from pipeline.schema_history.timeline.seed_items import NotSeededError, SeededTable, seeded
from pipeline.schema_history.timeline.statements import StatementReader
from pipeline.schema_history.timeline.tables import TableStates, TimelineTable

__all__ = ["LoggedStatement", "Timeline", "TimelineOptions"]


class Shown(NamedTuple):
    """The definition of a table map, with names if known, and the N of silver's `v<N>`."""

    definition: TableDefinition
    version: int


_NONE: Mapping[TableName, TableDefinition] = {}
_Verdict = tuple["ItemKind | None", "str | None"]


class Timeline:
    """The timeline of a log, applied in order; `new` has the resulting items."""

    def __init__(
        self,
        past: Iterable[TimelineItem],
        options: TimelineOptions,
        seeds: Mapping[TableName, TableDefinition] = _NONE,
    ) -> None:
        """`seeds` are the definitions of tables whose seeds wait for this log.

        They supply MariaDB's own types, which the log lacks if it has no statement on the table.
        """
        self._options = options
        self._seeds = seeds
        self._tables = TableStates(past, options.types)
        self._statements = StatementReader(self._tables, options)

    @property
    def new(self) -> list[TimelineItem]:
        """The items since the past."""
        return self._tables.new

    @property
    def unreadable(self) -> list[tuple[LoggedStatement, str]]:
        """Statements that may have changed any table, and why they cannot be parsed."""
        return self._statements.unreadable

    def known(self, shown: TableDefinition) -> Shown | None:
        """Return the definition and version for rows under this table map, if seen before."""
        table = self._tables[_name(shown)]
        definition, _ = self._named(table, shown)
        version = table.versions.shown(definition)
        return None if version is None else Shown(definition, version)

    def table_map(self, position: Position, shown: TableDefinition) -> Shown:
        """Apply the table map of a replicated table's rows; return their definition and version."""
        name = _name(shown)
        table = self._tables[name]
        definition, unnamed = self._named(table, shown)
        version = table.versions.for_table_map(definition, table.version)
        kind, reason = self._verdict(table, definition, version, unnamed)
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
                    model=self._model(table, definition, kind),
                )
            )
        return Shown(definition, version)

    def _model(
        self, table: TimelineTable, definition: TableDefinition, kind: ItemKind
    ) -> TableModel | None:
        """Return the model from DDL or the settings for a table that this table map creates."""
        if table.unseen or kind != "create":
            return table.model if table.unseen else None
        known = table.as_known(definition)
        declared = known is not None and fits(known, definition, self._options.types)
        return table.model if declared else None

    def _named(
        self, table: TimelineTable, shown: TableDefinition
    ) -> tuple[TableDefinition, str | None]:
        """Return the definition with names or, without them, the reason why."""
        if shown.named:
            known = table.definition or self._seeds.get(_name(shown))
            return (with_logical_types(shown, known) if known else shown), None
        try:
            return table.named(shown, self._options.default_charset), None
        except NotNamedError as error:
            return shown, str(error)

    def _verdict(
        self, table: TimelineTable, definition: TableDefinition, version: int, unnamed: str | None
    ) -> _Verdict:
        """Return the kind and reason of the item for a table map; for most, there is none."""
        settled = version == table.version and version not in table.versions.open
        if unnamed is not None:
            return (None, None) if settled and table.held else ("unsupported", unnamed)
        if not table.exists or (table.unseen and not table.held):
            return "observed", None
        if settled:
            # An item still records that the table has rows, that its key did not change after all,
            # or which layout was shown last.
            recorded = not table.keys_open and table.versions.last_shown == version
            return (None if table.rows_seen and recorded else "version"), None
        if table.held:
            return "version", None
        return self._changed(table, definition)

    def _changed(self, table: TimelineTable, definition: TableDefinition) -> _Verdict:
        """Return kind and reason of the item for a table map that differs from the known
        definition."""
        types, known = self._options.types, table.definition
        if known is None:
            return "create", None  # it was created empty, and this defines it
        if table.declared and fits(known, definition, types):
            return "version", None
        with_key = table.as_known(definition)
        if table.keys_open and with_key and fits(with_key, definition, types):
            return "alter" if table.rows_seen else "create", None
        if table.certainly_empty:
            return "create", None  # its first rows are under this table map
        change = difference(known, definition, types)
        return "unsupported", f"it changed without DDL in the log that explains it: {change}"

    def lacks(self, name: TableName) -> bool:
        """Return True if the table is replicated, but the names of its columns are unknown."""
        table = self._tables[name]
        return self._options.wanted(name.schema, name.table) and (not table.exists or table.unnamed)

    def name(self, schema: str, table: str) -> TableName:
        """Return a table's name as the log spells it, from the name that the server prints."""
        found = TableName(schema, table)
        return found.lower() if self._options.folds_names else found

    def declare(self, at: LoggedStatement, start: TimelineStart) -> None:
        """Apply the tables of a start; `at` has the position in the log and the server."""
        for table in start.tables:
            source = table.statement
            statement = replace(
                at, query=source.query, schema=source.schema, sql_mode=source.sql_mode
            )
            effect = in_lower_case(table.effect) if self._options.folds_names else table.effect
            if isinstance(effect, (CreateTable, Unsupported)):
                self._statements.declare(replace(statement, time_zone=source.time_zone), effect)

    def seed(
        self,
        at: LoggedStatement,
        rows: SeededFrom,
        items: Iterable[TimelineItem],
        *,
        all_logged: bool,
    ) -> TimelineItem | None:
        """Make a seed's rows those of its table; `at` is its CREATE TABLE.

        `items` are all items so far; `all_logged`: no foreign key has since changed rows without
        logging them. Return None if the log has all rows of the table without the seed. Raises
        NotSeededError if the log since the seed does not allow it.
        """
        found = self.effects(at)
        effect = found[0] if len(found) == 1 else None
        if not isinstance(effect, CreateTable):
            raise NotSeededError(getattr(effect, "reason", "its CREATE TABLE cannot be parsed"))
        model = self._statements.model_of(at, effect)
        table = self._tables[effect.name]
        schema = replace(effect.name, table="")  # stands for all of its tables
        own = [item for item in items if item.name in (effect.name, schema)]
        seed = SeededTable(rows, effect, model, all_logged)
        item = seeded(table, own, seed, at, self._options.types)
        if item is not None:
            self._tables.add(item)
        return item

    def statement(self, statement: LoggedStatement) -> None:
        """Apply a statement; one that changes no replicated table has no effect."""
        for number, effect in enumerate(self.effects(statement)):
            self._statements.take(statement.later(number), effect)

    def effects(self, statement: LoggedStatement) -> list[Effect]:
        """Return a statement's effects, with names as the log spells them."""
        session = StatementContext(
            statement.schema or None,
            statement.sql_mode,
            statement.server_version,
            mariadb=statement.mariadb,
        )
        found = effects(statement.query, session)
        if self._options.folds_names:
            found = [in_lower_case(effect) for effect in found]
        return permanent_effects(statement.query, found) if statement.temporary else found


def _name(definition: TableDefinition) -> TableName:
    return TableName(definition.schema, definition.table)
