"""Every table's definition over time: statements and table maps, taken in the order of the log.

The state of a table is what its items so far add up to, and `_apply` is the one transition, for
items read from the ledger as for new ones: a run that continues another's log stands where that
one stood. Table maps are the authority on what a table is, DDL on what became of its rows; where
the two contradict each other the table is `unsupported` from there, never guessed at.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass, field, replace
from datetime import datetime

from decoder.definition import ColumnDefinition, TableDefinition
from decoder.options import TypeOptions
from pipeline.catalog.constants import UnknownDefaultError
from pipeline.catalog.ddl import Session, effects
from pipeline.catalog.defaults import DefaultContext, default_text
from pipeline.catalog.effects import (
    AddColumns,
    CreateSchema,
    CreateTable,
    CreateTableLike,
    DropSchema,
    DropTable,
    Effect,
    NewColumn,
    TableName,
    Unreadable,
    Unsupported,
)
from pipeline.catalog.items import ItemKind, Position, TimelineItem
from pipeline.catalog.versions import Versions, difference, fits

LOGS_CASCADES = 90600
"""From MySQL 9.6 on, what a foreign key does to the child's rows is in the log, unless
innodb_native_foreign_keys is on, which the log does not tell."""
SAVES_DDL_XID = 80000
"""From MySQL 8.0 on, DDL that did something is logged with an XID."""


@dataclass(frozen=True, slots=True)
class LoggedStatement:
    """A QUERY event, as far as definitions depend on it; `server_version` as MySQL's number.

    `explicit_timestamps`: the session's explicit_defaults_for_timestamp, if it is logged.
    """

    lsn: int
    pos: int
    query: str
    schema: str | None = None
    sql_mode: int = 0
    time_zone: str | None = None
    executed_at: datetime | None = None
    ddl_xid: int | None = None
    explicit_timestamps: bool | None = None
    server_version: int | None = None
    mariadb: bool = False


@dataclass(frozen=True, slots=True)
class CatalogOptions:
    """What conf says: which tables count, their types, and the server's own time zone.

    `from_start`: the lake holds the server's log from its first file on. `foreign_keys_logged`: a
    server that can log what foreign keys do to rows does so.
    """

    wanted: Callable[[str, str], bool] = field(default=lambda _schema, _table: True)
    types: TypeOptions = field(default_factory=TypeOptions)
    system_time_zone: str = "UTC"
    from_start: bool = False
    foreign_keys_logged: bool = False


@dataclass(slots=True)
class _Table:
    """A table as it stands.

    `rows_seen`: a table map has shown it since it began; `declared`: its definition is from DDL.
    """

    versions: Versions
    exists: bool = False
    rows_seen: bool = False
    declared: bool = False
    held: bool = False
    definition: TableDefinition | None = None
    version: int | None = None

    @property
    def certainly_empty(self) -> bool:
        """Whether no row can be in it: no table map has shown a table of its name, ever.

        After a DROP and a CREATE, `rows_seen` alone does not tell: a segment's decoder gives a
        definition once while it stays the same, also across the two.
        """
        return not self.rows_seen and not self.versions.any_shown


class Timeline:
    """Takes a log's statements and table maps in order, and gives what is new in `new`."""

    def __init__(self, past: Iterable[TimelineItem], options: CatalogOptions) -> None:
        self._options = options
        self._tables: dict[TableName, _Table] = {}
        self._created_schemas: set[str] = set()
        self.new: list[TimelineItem] = []
        self.unreadable: list[tuple[LoggedStatement, str]] = []
        for item in past:
            self._apply(item)

    def version(self, definition: TableDefinition) -> int | None:
        """The version that rows under this table map are kept in, if one like it was seen."""
        return self._table(_name(definition)).versions.shown(definition)

    def table_map(self, position: Position, definition: TableDefinition) -> int:
        """A definition as rows of a replicated table are logged under it; gives its version."""
        name = _name(definition)
        table = self._table(name)
        version = table.versions.for_table_map(definition, table.version)
        kind, reason = self._verdict(table, definition, version)
        if kind is not None:
            self._add(position, name, kind, version=version, definition=definition, reason=reason)
        return version

    def _verdict(
        self, table: _Table, definition: TableDefinition, version: int
    ) -> tuple[ItemKind | None, str | None]:
        """What a table map tells that is new: nothing, for most."""
        known = table.definition
        settled = version == table.version and version not in table.versions.open
        if not definition.complete_metadata:
            return self._without_names(settled and table.held)
        if not table.exists:
            return "observed", None
        if settled:
            # The first one is kept although it tells nothing else: that there are rows.
            return (None if table.rows_seen else "version"), None
        if known is None or table.held:
            return "version", None
        if table.declared and fits(known, definition, self._options.types):
            return "version", None
        if table.certainly_empty:
            return "create", None  # it begins with what the table map shows
        change = difference(known, definition, self._options.types)
        return "unsupported", f"it changed without DDL that explains it: {change}"

    def _without_names(self, known: bool) -> tuple[ItemKind | None, str | None]:
        if known:
            return None, None
        reason = "the log has no column names and keys of it (binlog_row_metadata is not FULL)"
        return "unsupported", reason

    def statement(self, statement: LoggedStatement) -> None:
        """A statement; those that change no replicated table are nothing."""
        session = Session(
            statement.schema or None,
            statement.sql_mode,
            None if statement.mariadb else statement.server_version,
        )
        for effect in effects(statement.query, session):
            self._effect(statement, effect)

    def _effect(self, statement: LoggedStatement, effect: Effect) -> None:
        if isinstance(effect, Unreadable):
            self.unreadable.append((statement, effect.reason))
        elif isinstance(effect, CreateSchema):
            if not effect.if_not_exists:
                self._created_schemas.add(effect.schema)
        elif isinstance(effect, DropSchema):
            self._drop_schema(statement, effect)
        elif self._options.wanted(*_parts(effect.name)):
            self._table_effect(statement, effect)

    def _table_effect(self, statement: LoggedStatement, effect: Effect) -> None:
        if isinstance(effect, CreateTable):
            self._create(statement, effect, effect.definition)
        elif isinstance(effect, CreateTableLike):
            self._create_like(statement, effect)
        elif isinstance(effect, AddColumns):
            self._add_columns(statement, effect)
        elif isinstance(effect, DropTable):
            if self._table(effect.name).exists:
                self._log(statement, effect.name, "drop")
        elif isinstance(effect, Unsupported):
            self._unsupported(statement, effect.name, effect.reason, creates=effect.creates)

    def _drop_schema(self, statement: LoggedStatement, effect: DropSchema) -> None:
        self._created_schemas.discard(effect.schema)
        for name in sorted(self._tables):
            if name.schema == effect.schema and self._tables[name].exists:
                self._log(statement, name, "drop")

    def _create(
        self,
        statement: LoggedStatement,
        effect: CreateTable | CreateTableLike,
        definition: TableDefinition,
    ) -> None:
        if effect.if_not_exists and self._exists_already(statement, effect.name):
            return
        version = self._table(effect.name).versions.declared(definition)
        self._log(statement, effect.name, "create", version=version, definition=definition)
        cascades = effect.cascades if isinstance(effect, CreateTable) else ""
        if cascades:
            self._cascades(statement, effect.name, cascades)

    def _cascades(self, statement: LoggedStatement, name: TableName, cascades: str) -> None:
        """Hold a table whose rows foreign keys change, unless these changes are in the log."""
        reason = f"its rows change by a foreign key's {cascades}, which the log does not hold"
        if not statement.mariadb and (statement.server_version or 0) >= LOGS_CASCADES:
            if self._options.foreign_keys_logged:
                return
            reason = (
                f"its rows change by a foreign key's {cascades}. MySQL 9.6 and newer log what"
                " their foreign keys do, unless innodb_native_foreign_keys is on: say"
                " foreign_keys_logged: true in conf, for a new lake, if yours does"
            )
        self._unsupported(statement, name, reason)

    def _exists_already(self, statement: LoggedStatement, name: TableName) -> bool:
        """Whether an IF NOT EXISTS did nothing; of a table of which nothing is known, its logged
        XID tells, or else whether the log reaches back to before it."""
        if statement.ddl_xid is not None:
            return False
        if self._table(name).exists or (
            not statement.mariadb and (statement.server_version or 0) >= SAVES_DDL_XID
        ):
            return True
        return not self._options.from_start and name.schema not in self._created_schemas

    def _create_like(self, statement: LoggedStatement, effect: CreateTableLike) -> None:
        model = self._tables.get(effect.model)
        if model and model.exists and model.definition and not model.held:
            definition = replace(
                model.definition, schema=effect.name.schema, table=effect.name.table
            )
            self._create(statement, effect, definition)
        elif not (effect.if_not_exists and self._exists_already(statement, effect.name)):
            reason = f"created like {effect.model}, whose definition is not known"
            self._unsupported(statement, effect.name, reason, creates=True)

    def _add_columns(self, statement: LoggedStatement, effect: AddColumns) -> None:
        table = self._table(effect.name)
        if not table.exists or table.held or table.definition is None:
            return
        try:
            definition, added = _with_columns(table.definition, effect.columns)
            defaults = {
                column.definition.name: self._default(statement, column) for column in added
            }
        except UnknownDefaultError as error:
            self._unsupported(statement, effect.name, str(error))
            return
        version = table.versions.declared(definition)
        self._log(
            statement,
            effect.name,
            "add_columns",
            version=version,
            definition=definition,
            defaults=defaults,
        )

    def _default(self, statement: LoggedStatement, column: NewColumn) -> str | None:
        named = statement.time_zone not in (None, "", "SYSTEM")
        context = DefaultContext(
            executed_at=statement.executed_at,
            time_zone=str(statement.time_zone) if named else self._options.system_time_zone,
            options=self._options.types,
            explicit_timestamps=statement.explicit_timestamps,
        )
        try:
            return default_text(column, context)
        except UnknownDefaultError as error:
            raise UnknownDefaultError(
                f"column {column.definition.name} is added, and what existing rows hold in it"
                f" is not in the log: {error}"
            ) from error

    def _unsupported(
        self, statement: LoggedStatement, name: TableName, reason: str, *, creates: bool = False
    ) -> None:
        """Hold the table, if there is something to hold."""
        if self._table(name).exists or creates:
            self._log(statement, name, "unsupported", reason=reason)

    def _log(
        self,
        statement: LoggedStatement,
        name: TableName,
        kind: ItemKind,
        *,
        version: int | None = None,
        definition: TableDefinition | None = None,
        defaults: dict[str, str | None] | None = None,
        reason: str | None = None,
    ) -> None:
        self._add(
            (statement.lsn, statement.pos),
            name,
            kind,
            version=version,
            definition=definition,
            defaults=defaults,
            reason=reason,
            statement=statement.query,
        )

    def _add(
        self,
        position: Position,
        name: TableName,
        kind: ItemKind,
        *,
        version: int | None = None,
        definition: TableDefinition | None = None,
        defaults: dict[str, str | None] | None = None,
        statement: str | None = None,
        reason: str | None = None,
    ) -> None:
        item = TimelineItem(
            *position, *_parts(name), kind, version, definition, defaults, statement, reason
        )
        self.new.append(item)
        self._apply(item)

    def _apply(self, item: TimelineItem) -> None:
        table = self._table(item.name)
        # What a table map shows has no statement beside it.
        shown = item.statement is None and item.definition is not None
        if item.kind in ("create", "drop"):
            table.rows_seen, table.held = False, False
            table.definition, table.version = None, None
        table.exists = item.kind != "drop"
        table.held = table.held or item.kind == "unsupported"
        table.rows_seen = table.rows_seen or shown
        if item.definition is not None and item.version is not None:
            table.versions.keep(item.version, item.definition, from_table_map=shown)
            table.definition, table.version = item.definition, item.version
            table.declared = not shown

    def _table(self, name: TableName) -> _Table:
        return self._tables.setdefault(name, _Table(Versions(self._options.types)))


def _name(definition: TableDefinition) -> TableName:
    return TableName(definition.schema, definition.table)


def _parts(name: TableName) -> tuple[str, str]:
    return name.schema, name.table


def _with_columns(
    definition: TableDefinition, columns: Iterable[NewColumn]
) -> tuple[TableDefinition, list[NewColumn]]:
    """The definition with columns put in their places, and those that were not there before."""
    result: list[ColumnDefinition] = list(definition.columns)
    key = [definition.columns[i].name for i in definition.primary_key]
    added = []
    for column in columns:
        names = [c.name.casefold() for c in result]
        if column.definition.name.casefold() in names:
            continue  # MariaDB's ADD COLUMN IF NOT EXISTS
        if column.place and column.place.casefold() not in names:
            raise UnknownDefaultError(f"column {column.place} is not in the table")
        at = len(result) if column.place is None else 0
        at = names.index(column.place.casefold()) + 1 if column.place else at
        result.insert(at, column.definition)
        added.append(column)
    positions = {c.name: i for i, c in enumerate(result)}
    primary = tuple(positions[name] for name in key)
    return replace(definition, columns=tuple(result), primary_key=primary), added
