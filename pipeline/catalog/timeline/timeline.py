"""Every table's definition over time: statements and table maps, taken in the order of the log.

Table maps are the authority on what a table is, DDL on what became of its rows; where the two
contradict each other the table is `unsupported` from there, never guessed at.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import replace
from typing import NamedTuple

from decoder import TableDefinition
from pipeline.catalog.alter.items import ItemKind, Position, SeededFrom, TimelineItem
from pipeline.catalog.alter.versions import difference, fits
from pipeline.catalog.ddl.ddl import Session, effects
from pipeline.catalog.ddl.effects import CreateTable, Effect, TableName, Unsupported
from pipeline.catalog.ddl.letter_case import in_lower_case, lower
from pipeline.catalog.ddl.model import TableModel
from pipeline.catalog.ddl.temporary import beside_temporary_tables
from pipeline.catalog.timeline.logged import CatalogOptions, LoggedStatement
from pipeline.catalog.timeline.naming import NotNamedError, with_logical_types
from pipeline.catalog.timeline.seeded import NotSeededError, Seed, seeded
from pipeline.catalog.timeline.start import Start
from pipeline.catalog.timeline.statements import Statements
from pipeline.catalog.timeline.tables import Tables, TableState

__all__ = ["CatalogOptions", "LoggedStatement", "Timeline"]


class Shown(NamedTuple):
    """What a table map shows, with its names where they are known, and silver's `v<version>`."""

    definition: TableDefinition
    version: int


_NONE: Mapping[TableName, TableDefinition] = {}
_Verdict = tuple["ItemKind | None", "str | None"]


class Timeline:
    """Takes a log's statements and table maps in order, and gives what is new in `new`."""

    def __init__(
        self,
        past: Iterable[TimelineItem],
        options: CatalogOptions,
        seeds: Mapping[TableName, TableDefinition] = _NONE,
    ) -> None:
        """`seeds`: what the tables are by seeds that wait for this log: it tells the types of
        MariaDB's that the log does not, where that has no statement on the table."""
        self._options = options
        self._seeds = seeds
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

    def known(self, shown: TableDefinition) -> Shown | None:
        """What rows under this table map are kept as, if one like it was seen."""
        table = self._tables[_name(shown)]
        definition, _ = self._named(table, shown)
        version = table.versions.shown(definition)
        return None if version is None else Shown(definition, version)

    def table_map(self, position: Position, shown: TableDefinition) -> Shown:
        """A definition as rows of a replicated table are logged under it."""
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
        self, table: TableState, definition: TableDefinition, kind: ItemKind
    ) -> TableModel | None:
        """What DDL, or conf, told of a table that begins with this table map: that stays."""
        if table.unseen or kind != "create":
            return table.model if table.unseen else None
        known = table.as_known(definition)
        declared = known is not None and fits(known, definition, self._options.types)
        return table.model if declared else None

    def _named(
        self, table: TableState, shown: TableDefinition
    ) -> tuple[TableDefinition, str | None]:
        """The definition with its names, or else without them, and why."""
        if shown.named:
            known = table.definition or self._seeds.get(_name(shown))
            return (with_logical_types(shown, known) if known else shown), None
        try:
            return table.named(shown, self._options.default_charset), None
        except NotNamedError as error:
            return shown, str(error)

    def _verdict(
        self, table: TableState, definition: TableDefinition, version: int, unnamed: str | None
    ) -> _Verdict:
        """What a table map tells that is new: nothing, for most."""
        settled = version == table.version and version not in table.versions.open
        if unnamed is not None:
            return (None, None) if settled and table.held else ("unsupported", unnamed)
        if not table.exists or (table.unseen and not table.held):
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

    def lacks(self, name: TableName) -> bool:
        """Return True if the table is replicated, and nothing has told its columns' names."""
        table = self._tables[name]
        return self._options.wanted(name.schema, name.table) and (not table.exists or table.unnamed)

    def name(self, schema: str, table: str) -> TableName:
        """A table's name as the log has it, of one that the server prints."""
        found = TableName(schema, table)
        return lower(found) if self._options.folds_names else found

    def declare(self, at: LoggedStatement, start: Start) -> None:
        """The tables of a start, at a place of the log; `at` tells that, and the server."""
        for table in start.tables:
            told = table.statement
            statement = replace(at, query=told.query, schema=told.schema, sql_mode=told.sql_mode)
            effect = in_lower_case(table.effect) if self._options.folds_names else table.effect
            if isinstance(effect, (CreateTable, Unsupported)):
                self._statements.declare(replace(statement, time_zone=told.time_zone), effect)

    def seed(
        self,
        at: LoggedStatement,
        rows: SeededFrom,
        items: Iterable[TimelineItem],
        *,
        all_logged: bool,
    ) -> TimelineItem | None:
        """Take the rows of a seed for those of the table that `at`, its CREATE TABLE, is of.

        `items` are all that there are so far; `all_logged`: no foreign key has changed rows since
        without a word in the log. None where the log tells all of the table without it.
        Raises NotSeededError where the log since then does not let it.
        """
        found = self.effects(at)
        effect = found[0] if len(found) == 1 else None
        if not isinstance(effect, CreateTable):
            raise NotSeededError(getattr(effect, "reason", "its CREATE TABLE cannot be read"))
        model = self._statements.model_of(at, effect)
        table = self._tables[effect.name]
        own = [item for item in items if item.name in (effect.name, _all_of(effect.name))]
        seed = Seed(rows, effect, model, all_logged)
        item = seeded(table, own, seed, at, self._options.types)
        if item is not None:
            self._tables.add(item)
        return item

    def statement(self, statement: LoggedStatement) -> None:
        """A statement; those that change no replicated table are nothing."""
        for number, effect in enumerate(self.effects(statement)):
            self._statements.take(statement.later(number), effect)

    def effects(self, statement: LoggedStatement) -> list[Effect]:
        """What a statement does, with the names that the log has."""
        session = Session(
            statement.schema or None,
            statement.sql_mode,
            statement.server_version,
            mariadb=statement.mariadb,
        )
        found = effects(statement.query, session)
        if self._options.folds_names:
            found = [in_lower_case(effect) for effect in found]
        return beside_temporary_tables(statement.query, found) if statement.temporary else found


def _all_of(name: TableName) -> TableName:
    """What stands for all tables of a schema, where something was told of that."""
    return replace(name, table="")


def _name(definition: TableDefinition) -> TableName:
    return TableName(definition.schema, definition.table)
