"""Turn the effects of logged statements into items of the timeline."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import replace
from functools import partial

from decoder import TableDefinition
from pipeline.schema_history.alter.altered_columns import Alteration, NotAppliedError, altered
from pipeline.schema_history.ddl.actions import Refused, RowsNotLogged
from pipeline.schema_history.ddl.defaults import insert_default
from pipeline.schema_history.ddl.effects import (
    AlterSchema,
    AlterTable,
    CreateSchema,
    CreateTable,
    CreateTableLike,
    CreateTemporary,
    DropSchema,
    DropTable,
    Effect,
    RenameTables,
    RowsChanged,
    TableEffect,
    TableName,
    TruncateTable,
    Unreadable,
    Unsupported,
)
from pipeline.schema_history.ddl.model import TableModel
from pipeline.schema_history.ddl.partition_clause import COPY_REMEDY
from pipeline.schema_history.timeline import foreign_keys
from pipeline.schema_history.timeline.logged_statement import LoggedStatement, TimelineOptions
from pipeline.schema_history.timeline.table_items import TableItems, named
from pipeline.schema_history.timeline.tables import TableStates, TimelineTable, with_key

SAVES_DDL_XID = 80000
"""From MySQL 8.0 on, DDL that had an effect is logged with an XID."""


class StatementReader(TableItems):
    """A reader that applies statements to `tables`; `unreadable`: those that cannot be parsed."""

    def __init__(self, tables: TableStates, options: TimelineOptions) -> None:
        super().__init__(tables, options)
        self._from_start = options.from_start
        self._created_schemas: set[str] = set()
        self.unreadable: list[tuple[LoggedStatement, str]] = []

    def take(self, statement: LoggedStatement, effect: Effect) -> None:
        """Apply one effect of a statement."""
        if isinstance(effect, Unreadable):
            self.unreadable.append((statement, effect.reason))
        elif isinstance(effect, CreateSchema):
            self._create_schema(statement, effect)
        elif isinstance(effect, AlterSchema):
            self._schema_charset(statement, effect.schema, effect.charset)
        elif isinstance(effect, DropSchema):
            self._drop_schema(statement, effect)
        elif isinstance(effect, RenameTables):
            self._rename(statement, effect)
        elif isinstance(effect, CreateTemporary):
            self._temporary(statement, effect.name)
        elif self._wanted(effect.name):
            if isinstance(effect, (AlterTable, TruncateTable, DropTable, RowsChanged)):
                self._check_case(statement, effect.name)
            self._on_table(statement, effect)
        elif isinstance(effect, AlterTable) and effect.renamed:
            self._rename(statement, RenameTables(((effect.name, effect.renamed),)))

    def declare(self, statement: LoggedStatement, effect: CreateTable | Unsupported) -> None:
        """Apply a definition from outside the log, unless the log already names the columns."""
        name, table = effect.name, self._tables[effect.name]
        if not self._wanted(name) or (table.exists and not table.unnamed):
            return
        if isinstance(effect, CreateTable):
            model, at = self.model_of(statement, effect), replace(statement, query="")
            # no statement changed it
            self._log(at, name, "declared", definition=effect.definition, model=model)
        elif not table.exists:
            self._unsupported(statement, name, effect.reason, creates=True)

    def model_of(self, statement: LoggedStatement, effect: CreateTable) -> TableModel:
        """Return the DDL-only properties that a CREATE TABLE declares."""
        mode = self._options.conversion_mode(statement)
        # Only the definition has the columns that are NOT NULL because of a key.
        declared = (
            replace(column, definition=definition)
            for column, definition in zip(effect.columns, effect.definition.columns, strict=True)
        )
        return replace(
            effect.model,
            defaults=tuple(insert_default(column, mode) for column in declared),
            foreign_keys=foreign_keys.created(effect, statement),
        )

    def _on_table(self, statement: LoggedStatement, effect: TableEffect) -> None:
        if isinstance(effect, CreateTable):
            self._create(statement, effect)
        elif isinstance(effect, CreateTableLike):
            self._create_like(statement, effect)
        elif isinstance(effect, AlterTable):
            self._alter(statement, effect)
        elif isinstance(effect, Unsupported):
            model = TableModel(left_out=effect.reason) if effect.left_out else None
            self._unsupported(
                statement, effect.name, effect.reason, creates=effect.creates, model=model
            )
        elif isinstance(effect, RowsChanged):
            self._rows_not_logged(statement, effect.name, effect.reason)
        elif isinstance(effect, DropTable):
            self._end(statement, effect.name)
        else:
            self._truncate(statement, effect.name)

    def _check_case(self, statement: LoggedStatement, name: TableName) -> None:
        """Hold the table that may be meant if the server compares names case-insensitively.

        The log does not record whether it does. A DROP TABLE IF EXISTS without effect has no XID.
        """
        did_nothing = statement.mysql_version >= SAVES_DDL_XID and statement.ddl_xid is None
        known = self._options.lower_case_table_names is not None
        if known or did_nothing or self._tables[name].exists:
            return
        if other := self._tables.respelled(name):
            self._unsupported(statement, other, _other_case(str(name)))

    def _create_schema(self, statement: LoggedStatement, effect: CreateSchema) -> None:
        if not effect.if_not_exists:
            self._created_schemas.add(effect.schema)
        charsets = self._tables.charsets
        absent = not charsets[effect.schema] if effect.schema in charsets else self._from_start
        # IF NOT EXISTS is a no-op for an existing schema, but whether it was is not logged.
        if not effect.if_not_exists or absent:
            charset = effect.charset or statement.server_charset
            self._schema_charset(statement, effect.schema, charset)

    def _schema_charset(self, statement: LoggedStatement, schema: str, charset: str | None) -> None:
        if charset is not None and self._tables.charsets.get(schema) != charset:
            self._log(statement, TableName(schema, ""), "schema", model=TableModel(charset=charset))

    def _drop_schema(self, statement: LoggedStatement, effect: DropSchema) -> None:
        self._created_schemas.discard(effect.schema)
        if self._tables.charsets.get(effect.schema):
            self._log(statement, TableName(effect.schema, ""), "schema")
        self._mentioned(statement, TableName(effect.schema, ""))
        existing = self._tables.existing(effect.schema)
        for name in existing:
            self._end(statement, name)
        if not existing and self._options.lower_case_table_names is None:
            for name in self._tables.respelled_schema(effect.schema):
                self._unsupported(statement, name, _other_case(effect.schema))

    # --- tables are created -----------------------------------------------------------------------

    def _create(self, statement: LoggedStatement, effect: CreateTable) -> None:
        if effect.if_not_exists and self._exists_already(statement, effect.name):
            return
        effect = effect.in_charset(self._tables.charsets.get(effect.name.schema))
        model = self.model_of(statement, effect)
        self._log(statement, effect.name, "create", definition=effect.definition, model=model)

    def _exists_already(self, statement: LoggedStatement, name: TableName) -> bool:
        """Return True if an IF NOT EXISTS was a no-op.

        For an unknown table, its logged XID decides or, without one, whether the log begins before
        it.
        """
        if statement.ddl_xid is not None:
            return False
        if self._tables[name].exists or statement.mysql_version >= SAVES_DDL_XID:
            return True
        return not self._from_start and name.schema not in self._created_schemas

    def _create_like(self, statement: LoggedStatement, effect: CreateTableLike) -> None:
        if effect.if_not_exists and self._exists_already(statement, effect.name):
            return
        like = self._tables[effect.model] if effect.model else None
        if like and like.exists and like.definition and not like.held:
            definition = named(like.definition, effect.name)
            model = like.model and like.model.like
            self._log(statement, effect.name, "create", definition=definition, model=model)
            if like.keys_open:
                self._log(statement, effect.name, "keys", model=like.model)
        elif like and like.model and (reason := like.model.left_out):
            self._unsupported(statement, effect.name, reason, creates=True, model=like.model)
        else:
            self._log(statement, effect.name, "create")

    # --- tables change ----------------------------------------------------------------------------

    def _alter(self, statement: LoggedStatement, effect: AlterTable) -> None:
        table = self._tables[effect.name]
        if table.exists and not table.held:
            self._take_actions(statement, effect, table)
        else:
            self._mentioned(statement, effect.name)
        if effect.renamed:
            self._rename(statement.later(1), RenameTables(((effect.name, effect.renamed),)))

    def _take_actions(
        self, statement: LoggedStatement, effect: AlterTable, table: TimelineTable
    ) -> None:
        for action in effect.actions:
            if isinstance(action, Refused) and action.left_out:
                model = TableModel(left_out=action.reason)
                self._unsupported(statement, effect.name, action.reason, model=model)
                return
        if table.definition is None:  # it is empty, and the first table map defines it
            for action in effect.actions:
                if isinstance(action, RowsNotLogged):
                    self._rows_not_logged(statement, effect.name, action.reason)
            if reason := foreign_keys.unknown(effect.actions):
                self._unsupported(statement, effect.name, reason)
            return
        try:
            change = altered(
                table.definition,
                table.model,
                effect.actions,
                self._options.conversion_mode(
                    statement, ignore=effect.ignore, shown=not table.declared
                ),
            )
            kept = foreign_keys.altered(effect.name, change, effect.actions, statement)
        except NotAppliedError as error:
            self._unsupported(statement, effect.name, str(error))
        else:
            change = replace(change, model=kept)
            self._altered(statement, effect.name, table, table.definition, change)

    def _altered(
        self,
        statement: LoggedStatement,
        name: TableName,
        table: TimelineTable,
        before: TableDefinition,
        change: Alteration,
    ) -> None:
        if table.unseen:
            definition = _rekeyed(change) if change.keys else change.definition
            if (definition, change.model) != (before, table.model):
                self._log(statement, name, "declared", definition=definition, model=change.model)
            return
        log = partial(self._log, statement, name, definition=change.definition, model=change.model)
        if change.definition != before:
            self._log_columns(log, before, change)
            self._follow(statement, {}, (name, change))
        elif _besides_keys(change.model) != _besides_keys(table.model):
            self._log(statement, name, "model", model=change.model)
        if change.gone:
            self._log(statement, name, "truncate_partitions", rows=change.gone)
        if change.not_logged:
            self._rows_not_logged(statement, name, change.not_logged)
        if change.keys:
            self._log(statement, name, "keys", model=change.model)

    def _follow(
        self,
        statement: LoggedStatement,
        moved: Mapping[TableName, TableName],
        change: tuple[TableName, Alteration] | None = None,
    ) -> None:
        """Update foreign keys of other tables when a parent or its columns are renamed."""
        for name, model in list(foreign_keys.following(self._tables, moved, change)):
            self._log(statement, name, "model", model=model)

    def _log_columns(
        self, log: Callable[..., None], before: TableDefinition, change: Alteration
    ) -> None:
        if change.keeps(before, self._options.types):
            log("version")
        elif change.only_adds(before):
            log("add_columns", defaults={s.name: s.text for s in change.steps if s.old is None})
        else:
            log("alter", columns=change.steps)

    # --- tables are renamed -----------------------------------------------------------------------

    def _temporary(self, statement: LoggedStatement, name: TableName) -> None:
        """Record a temporary table's name, because a RENAME TABLE of it looks like any other."""
        if statement.mariadb and self._wanted(name) and not self._tables[name].temporary:
            self._log(statement, name, "temporary")

    def _rename(self, statement: LoggedStatement, effect: RenameTables) -> None:
        """Rename all tables of the statement at once."""
        hidden = [pair for pair in effect.pairs if self._tables[pair[0]].temporary]
        if statement.mariadb and hidden:
            self._hold_all(statement, effect, hidden[0][0])
            return
        for old, _ in effect.pairs:
            if self._wanted(old):
                self._check_case(statement, old)
        renamed, moved = permutation(effect.pairs)
        targets = {source: name for name, source in renamed.items()}
        self._follow(statement, targets)
        before = {name: replace(self._tables[name]) for name in {*renamed, *renamed.values()}}
        for name, target in moved.items():
            if self._wanted(name):
                self._end(statement, name, target)
        for name, source in renamed.items():
            if self._wanted(name):
                if before[source].undefined:
                    self._end(statement, name, targets.get(name))
                self._take_over(statement, name, source, before, targets)

    def _take_over(
        self,
        statement: LoggedStatement,
        name: TableName,
        source: TableName,
        before: Mapping[TableName, TimelineTable],
        moved: Mapping[TableName, TableName],
    ) -> None:
        """Move a table to a new name.

        `before` has the states of all tables of the statement, `moved` maps old names to new ones.
        """
        was = before[source]
        model = foreign_keys.renamed(was.model, source, moved)
        known = was.exists and not was.held and was.rows_known and self._wanted(source)
        if known and was.definition is None:
            self._log(statement.later(1), name, "create")  # it is empty
        elif known and was.definition and was.unseen and not before[name].exists:
            definition = named(was.definition, name)
            self._log(statement, name, "declared", definition=definition, model=model)
        elif known and was.definition and not was.unseen:
            definition = named(was.definition, name)
            self._log(statement, name, "renamed", definition=definition, model=model, other=source)
            if was.keys_open:
                self._log(statement, name, "keys", model=model)
        elif was.exists or before[name].exists:
            reason = _unknown_rows(source, was)
            left_out = was.model if was.model and was.model.left_out else None
            self._unsupported(statement, name, reason, creates=True, model=left_out)
        else:
            self._mentioned(statement, name)

    def _hold_all(self, statement: LoggedStatement, effect: RenameTables, name: TableName) -> None:
        """Hold the tables of a RENAME that may be of the temporary table of this name."""
        reason = f"it or a temporary table named {name} is renamed: the log does not record which"
        for pair in effect.pairs:
            for renamed in filter(self._wanted, pair):
                self._unsupported(statement, renamed, reason)
            self._temporary(statement, pair[1])


def permutation(
    pairs: Iterable[tuple[TableName, TableName]],
) -> tuple[dict[TableName, TableName], dict[TableName, TableName]]:
    """Apply pairs (old, new) from left to right.

    Return a mapping from each name that has another table's rows to that table, and one from each
    name that no longer exists to the name where its rows went.
    """
    origin: dict[TableName, TableName] = {}
    gone: set[TableName] = set()
    for old, new in pairs:
        origin[new] = origin.pop(old, old)
        gone.add(old)
        gone.discard(new)
    renamed = {name: source for name, source in origin.items() if name != source}
    by_source = {source: name for name, source in renamed.items()}
    moved = {name: by_source[name] for name in gone if name in by_source}
    return renamed, moved


def _rekeyed(change: Alteration) -> TableDefinition:
    """Return the definition with the key from DDL, for a table that no table map has shown."""
    bare = replace(change.definition, primary_key=(), primary_key_prefixes=())
    return with_key(bare, change.model.keys if change.model else None)


def _besides_keys(model: TableModel | None) -> TableModel | None:
    return model and replace(model, keys=None)


def _other_case(name: str) -> str:
    return (
        f"a statement names {name}, which is another table unless the server's"
        " lower_case_table_names is 1 or 2: set lower_case_table_names in the settings, and run"
        " binlake run --full-refresh"
    )


def _unknown_rows(source: TableName, was: TimelineTable) -> str:
    if was.held:
        return f"renamed from {source}, which is held"
    if not was.rows_known:
        return f"renamed from {source}, some of whose rows are not in the log{COPY_REMEDY}"
    return (
        f"renamed from {source}, whose rows are not replicated: if exclude matches that name,"
        " include it, and run binlake run --full-refresh"
    )
