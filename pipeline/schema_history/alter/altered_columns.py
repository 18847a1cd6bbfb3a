"""Apply one ALTER TABLE to a definition: the resulting columns, and where each comes from.

Columns are ordered as by MySQL (`prepare_fields_and_keys` of `sql/sql_table.cc`): first the old
ones in their order, without those dropped or moved by CHANGE or MODIFY; then the added and moved
ones in statement order, each after the column that then has its AFTER's name. Names are compared
case-insensitively.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace

from decoder import TableDefinition, TypeOptions
from decoder.constants import BINARY_COLLATION, ColumnType
from decoder.model import ColumnDefinition
from pipeline.schema_history.alter.conversions import conversion
from pipeline.schema_history.alter.generated import generated, keeps_generated
from pipeline.schema_history.alter.items import ColumnStep
from pipeline.schema_history.alter.layout_versions import fits
from pipeline.schema_history.alter.partition_changes import partition_changes
from pipeline.schema_history.ddl.actions import (
    Action,
    AddColumn,
    AddPeriod,
    ChangeColumn,
    ChangeDefault,
    ConvertCharset,
    DropColumn,
    NewColumn,
    Refused,
    RenameColumn,
    SetCharset,
)
from pipeline.schema_history.ddl.addresses import changed_default
from pipeline.schema_history.ddl.column_types import with_charset
from pipeline.schema_history.ddl.conversion_mode import ConversionMode, UnknownValueError
from pipeline.schema_history.ddl.defaults import default_text, insert_default
from pipeline.schema_history.ddl.keys import ChangeKeys, altered_keys
from pipeline.schema_history.ddl.lexer import SqlMode
from pipeline.schema_history.ddl.model import TableModel
from pipeline.schema_history.ddl.partitions import PartitionRows


class NotAppliedError(ValueError):
    """The effect of a statement on a table's rows is unknown or not supported."""


@dataclass(frozen=True, slots=True)
class Alteration:
    """The result of an ALTER TABLE: definition, model, and one step per column.

    `keys`: the keys may have changed. `gone` are the rows removed with their partitions.
    `not_logged` is the reason why rows changed without being logged.
    """

    definition: TableDefinition
    model: TableModel | None
    steps: tuple[ColumnStep, ...]
    keys: bool
    gone: PartitionRows | None = None
    not_logged: str | None = None

    def keeps(self, before: TableDefinition, types: TypeOptions) -> bool:
        """Return True if gold is unaffected: same columns, values and key."""
        return fits(before, self.definition, types) and all(
            step.name == step.old and step.convert is None for step in self.steps
        )

    def only_adds(self, before: TableDefinition) -> bool:
        """Return True if all previous columns are there, unchanged and in their order."""
        kept = [step for step in self.steps if step.old is not None]
        same = all(step.name == step.old and step.convert is None for step in kept)
        same = same and not any(step.generated for step in self.steps)
        return same and [s.name for s in kept] == [c.name for c in before.columns]


@dataclass(slots=True)
class _Slot:
    column: ColumnDefinition
    step: ColumnStep


def altered(
    definition: TableDefinition,
    model: TableModel | None,
    actions: Sequence[Action],
    mode: ConversionMode,
) -> Alteration:
    """Return the table after the actions. Raises `NotAppliedError`."""
    for action in actions:
        if isinstance(action, Refused):
            raise NotAppliedError(action.reason)
        if mode.ignore and (_concerns_keys(action) or isinstance(action, ConvertCharset)):
            raise NotAppliedError("ALTER IGNORE drops rows with a duplicate key")
    change = _Columns(definition, model, actions, mode).altered()
    return replace(change, **partition_changes(definition, change.model, actions, mode.options))


class _Columns:
    """The columns while a statement changes them."""

    def __init__(
        self,
        definition: TableDefinition,
        model: TableModel | None,
        actions: Sequence[Action],
        mode: ConversionMode,
    ) -> None:
        charsets = [a.charset for a in actions if isinstance(a, (SetCharset, ConvertCharset))]
        if model is not None and charsets:  # which declarations in the statement default to
            model = replace(model, charset=charsets[-1])
        self.charset = model.charset if model else None
        self.definition = definition
        self.model = model
        self.actions = actions
        self.mode = mode
        self.acting = _by_old_name(definition, actions)
        self.slots: list[_Slot] = []
        self.changed: dict[str, str | None] = {}  # old name → new name, None: dropped

    def altered(self) -> Alteration:
        placed = self._old_columns()
        for action in self.actions:
            if isinstance(action, AddColumn):
                self._add(action)
            elif isinstance(action, ChangeColumn) and id(action) in placed:
                self._insert(placed[id(action)], action.column.place)
            elif isinstance(action, AddPeriod):
                columns = action.period.not_null(slot.column for slot in self.slots)
                for slot, column in zip(self.slots, columns, strict=True):
                    slot.column = column
        if len(set(self._names())) < len(self.slots):
            raise NotAppliedError("two columns have the same name")
        return self._result()

    def _insert(self, slot: _Slot, place: str | None) -> None:
        if place is None:
            self.slots.append(slot)
        elif not place:
            self.slots.insert(0, slot)
        else:
            if place.casefold() not in self._names():
                raise NotAppliedError(f"the table has no column {place}")
            self.slots.insert(self._names().index(place.casefold()) + 1, slot)

    def _names(self) -> list[str]:
        return [slot.column.name.casefold() for slot in self.slots]

    def _old_columns(self) -> dict[int, _Slot]:
        """Add columns that keep their position; return the moved ones, by id of their action."""
        placed: dict[int, _Slot] = {}
        for column in self.definition.columns:
            action = self.acting.get(column.name.casefold())
            if isinstance(action, DropColumn):
                self.changed[column.name] = None
            elif isinstance(action, ChangeColumn):
                slot = self._change(column, action.column)
                self.changed[column.name] = slot.column.name
                if action.column.place is None:
                    self.slots.append(slot)
                else:
                    placed[id(action)] = slot
            else:
                new = action.new if isinstance(action, RenameColumn) else column.name
                self.changed[column.name] = new
                kept = replace(column, name=new)
                self.slots.append(_Slot(kept, ColumnStep(new, column.name)))
        convert = next((a for a in self.actions if isinstance(a, ConvertCharset)), None)
        if convert is not None:
            self._convert(convert)
        return placed

    def _convert(self, action: ConvertCharset) -> None:
        """Convert text to another charset: it stays the same if that has all its characters."""
        try:
            replace(self.mode, charset=action.charset).require_text_kept()
        except UnknownValueError as error:
            raise NotAppliedError(
                f"its text is converted to another character set, with an unknown result: {error}"
            ) from error
        for slot in self.slots:
            if slot.column.collation in (None, BINARY_COLLATION):
                continue
            old = slot.step.old
            if old and self.model and self.model.generates_from(old):  # perhaps from its bytes
                raise NotAppliedError(
                    f"text of column {old}, from which others are generated, is converted"
                )
            slot.column = with_charset(slot.column, action.charset)

    def _change(self, old: ColumnDefinition, declaration: NewColumn) -> _Slot:
        declared = declaration.in_charset(self.charset)
        new = declared.definition
        if old.name in self.definition.key:
            new = replace(new, nullable=False)
        try:
            how = conversion(old, new, replace(self.mode, charset=declared.charset))
        except UnknownValueError as error:
            raise NotAppliedError(
                f"column {old.name} is changed, and its new values are not certain: {error}"
            ) from error
        self._check_computed(old, declared)
        self._check_nulls(old, new, declared)
        if not keeps_generated(self.model, old, declared, how, mariadb=self.mode.mariadb):
            raise NotAppliedError(
                f"column {old.name} changes, and so may the values of columns generated from it"
            )
        return _Slot(new, ColumnStep(new.name, old.name, how))

    def _check_nulls(
        self, old: ColumnDefinition, new: ColumnDefinition, declared: NewColumn
    ) -> None:
        """Raise if NULL becomes the statement's time, as it does in any sql_mode."""
        if new.type is not ColumnType.TIMESTAMP2 or not old.nullable or declared.explicit_null:
            return
        if not (new.nullable and self.mode.explicit_timestamps):
            raise NotAppliedError(
                f"column {old.name} becomes NOT NULL, and its NULLs become the statement's time"
            )

    def _check_computed(self, old: ColumnDefinition, declared: NewColumn) -> None:
        """Raise if the server recomputes existing values."""
        if declared.is_generated:
            raise NotAppliedError(f"column {old.name} becomes {declared.computed}")
        numbered = (self.model and self.model.auto_increment) or ""
        if not declared.computed or numbered.casefold() == old.name.casefold():
            return
        if old.nullable or not self.mode.sql_mode & SqlMode.NO_AUTO_VALUE_ON_ZERO:
            raise NotAppliedError(
                f"column {old.name} becomes AUTO_INCREMENT, and its zeros and NULLs become numbers"
                " that are not in the log"
            )

    def _add(self, action: AddColumn) -> None:
        name = action.column.definition.name
        if action.if_not_exists and name.casefold() in self._names():
            return
        column = action.column.in_charset(self.charset)
        try:
            if column.expression:
                expression, how = generated(action.column, self._unchanged(), self.mode)
                step = ColumnStep(name, convert=how, generated=expression)
            else:
                step = ColumnStep(name, text=default_text(column, self.mode))
        except UnknownValueError as error:
            reason = f"a generated column ({error})" if column.expression else error
            raise NotAppliedError(
                f"column {name} is added, and its value in existing rows is not in the log:"
                f" {reason}"
            ) from error
        self._insert(_Slot(column.definition, step), column.place)

    def _unchanged(self) -> Iterator[ColumnDefinition]:
        """Yield the columns that the statement leaves as they are."""
        if not any(isinstance(action, ConvertCharset) for action in self.actions):
            yield from (c for c in self.definition.columns if c.name.casefold() not in self.acting)

    def _result(self) -> Alteration:
        before = self.definition
        names = [slot.column.name for slot in self.slots]
        kept = [
            (names.index(new), prefix)
            for name, prefix in zip(before.key, before.primary_key_prefixes, strict=True)
            if (new := self.changed[name]) is not None
        ]
        definition = replace(
            before,
            columns=tuple(slot.column for slot in self.slots),
            primary_key=tuple(place for place, _ in kept),
            primary_key_prefixes=tuple(prefix for _, prefix in kept),
            hidden=(),
        )
        return Alteration(
            definition,
            self.model and self._with_declared(self.model),
            tuple(slot.step for slot in self.slots),
            any(map(_concerns_keys, self.actions)),
        )

    def _with_declared(self, model: TableModel) -> TableModel:
        """Return the model with what the statement declares of columns, defaults and keys."""
        declared: list[NewColumn] = []
        keys: list[ChangeKeys] = []
        for action in self.actions:
            if isinstance(action, ChangeKeys):
                keys.append(action)
            elif isinstance(action, (AddColumn, ChangeColumn)):
                declared.append(action.column)
                if action.column.key is not None:
                    keys.append(ChangeKeys(added=action.column.key))
        model = model.renamed(self.changed, declared)
        defaults = (insert_default(column, self.mode) for column in self._with_defaults())
        model = model.with_defaults(defaults)
        return replace(model, keys=altered_keys(model.keys, self.changed, keys))

    def _with_defaults(self) -> Iterator[NewColumn]:
        """Yield the columns whose DEFAULTs are declared, as they are after the statement."""
        now = {slot.column.name: slot for slot in self.slots}
        for action in self.actions:
            if isinstance(action, ChangeDefault):
                column = self._with_default(action)
                if column is not None:
                    yield NewColumn(column, changed_default(column, action.default))
            elif isinstance(action, (AddColumn, ChangeColumn)):
                slot = now.get(action.column.definition.name)
                # ADD COLUMN IF NOT EXISTS and CHANGE COLUMN IF EXISTS may have been no-ops.
                if slot and (slot.step.old is None) == isinstance(action, AddColumn):
                    yield replace(action.column, definition=slot.column)

    def _with_default(self, action: ChangeDefault) -> ColumnDefinition | None:
        """Return the column whose DEFAULT changes; None if it is dropped, or missing IF EXISTS."""
        names = {old.casefold(): new for old, new in self.changed.items()}
        if action.name.casefold() not in names and not action.if_exists:
            raise NotAppliedError(f"the table has no column {action.name}")
        new = names.get(action.name.casefold())
        return next((slot.column for slot in self.slots if slot.column.name == new), None)


def _by_old_name(definition: TableDefinition, actions: Iterable[Action]) -> dict[str, Action]:
    """Return the action on each column that is named, by case-folded name."""
    names = {column.name.casefold() for column in definition.columns}
    found: dict[str, Action] = {}
    for action in actions:
        if isinstance(action, DropColumn):
            name = action.name
        elif isinstance(action, (RenameColumn, ChangeColumn)):
            name = action.old
        else:
            continue
        if name.casefold() in names:
            found[name.casefold()] = action
        elif not action.if_exists:
            raise NotAppliedError(f"the table has no column {name}")
    return found


def _concerns_keys(action: Action) -> bool:
    """Return True if the action may change the key that the server logs.

    A UNIQUE key counts as primary while all its columns are NOT NULL.
    """
    if isinstance(action, (ChangeKeys, DropColumn, ChangeColumn, AddPeriod)):
        return True
    return isinstance(action, AddColumn) and (action.column.primary or action.column.unique)
