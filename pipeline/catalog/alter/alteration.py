"""Apply one ALTER TABLE to a definition: the resulting columns, and where each comes from.

Columns are ordered as by MySQL (`prepare_fields_and_keys` of `sql/sql_table.cc`): first the old
ones in their order, without those dropped or moved by CHANGE or MODIFY; then the added and moved
ones in statement order, each after the column that then has its AFTER's name. Names are compared
case-insensitively.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

from decoder import TableDefinition, TypeOptions
from decoder.constants import BINARY_COLLATION, ColumnType
from decoder.model.definition import ColumnDefinition
from pipeline.catalog.alter.conversions import conversion
from pipeline.catalog.alter.generated import generated
from pipeline.catalog.alter.items import ColumnStep
from pipeline.catalog.alter.kept_values import keeps_generated
from pipeline.catalog.alter.partition_changes import partition_changes
from pipeline.catalog.alter.versions import fits
from pipeline.catalog.ddl.actions import (
    Action,
    AddColumn,
    AddPeriod,
    ChangeColumn,
    ChangeDefault,
    ChangeKeys,
    ConvertCharset,
    DropColumn,
    NewColumn,
    Refused,
    RenameColumn,
)
from pipeline.catalog.ddl.addresses import changed_default
from pipeline.catalog.ddl.column_types import with_charset
from pipeline.catalog.ddl.conversion_mode import ConversionMode, UnknownConversionError
from pipeline.catalog.ddl.declarations import column_in_charset, in_new_charset
from pipeline.catalog.ddl.expressions import UnknownExpressionError
from pipeline.catalog.ddl.lexer import SqlMode
from pipeline.catalog.ddl.literals import UnknownDefaultError
from pipeline.catalog.ddl.model import ColumnDefault, TableModel
from pipeline.catalog.ddl.partitions import PartitionRows
from pipeline.catalog.ddl.rekeying import altered_keys


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


class _Columns:
    """The columns while a statement changes them."""

    def __init__(self, definition: TableDefinition, model: TableModel | None) -> None:
        self.definition = definition
        self.model = model
        self.slots: list[_Slot] = []
        self.changed: dict[str, str | None] = {}  # old name → new name, None: dropped

    def add(self, slot: _Slot, place: str | None) -> None:
        self.slots.insert(self._at(place), slot)

    def _at(self, place: str | None) -> int:
        if place is None:
            return len(self.slots)
        if not place:
            return 0
        for n, slot in enumerate(self.slots):
            if slot.column.name.casefold() == place.casefold():
                return n + 1
        raise NotAppliedError(f"the table has no column {place}")


def altered(
    definition: TableDefinition,
    model: TableModel | None,
    actions: Sequence[Action],
    mode: ConversionMode,
    default: Callable[[NewColumn], str | None],
    inserted: Callable[[NewColumn], ColumnDefault],
) -> Alteration:
    """Return the table after the actions.

    `default` returns an added column's value in existing rows, `inserted` its default in later
    ones. Raises `NotAppliedError`.
    """
    _refuse(actions, mode)
    columns = _Columns(definition, in_new_charset(model, actions))
    placed = _old_columns(columns, actions, mode)
    for action in actions:
        if isinstance(action, AddColumn):
            _add(columns, action, actions, mode, default)
        elif id(action) in placed:
            slot = placed[id(action)]
            columns.add(slot, _position(action))
        elif isinstance(action, AddPeriod):
            defined = [slot.column for slot in columns.slots]
            for slot, column in zip(columns.slots, action.period.not_null(defined), strict=True):
                slot.column = column
    if len({slot.column.name.casefold() for slot in columns.slots}) < len(columns.slots):
        raise NotAppliedError("two columns have the same name")
    change = _result(columns, actions, inserted)
    return replace(change, **partition_changes(definition, change.model, actions, mode.options))


def _refuse(actions: Sequence[Action], mode: ConversionMode) -> None:
    for action in actions:
        if isinstance(action, Refused):
            raise NotAppliedError(action.reason)
        if mode.ignore and (_concerns_keys(action) or isinstance(action, ConvertCharset)):
            raise NotAppliedError("ALTER IGNORE drops rows with a duplicate key")


def _position(action: Action) -> str | None:
    return action.column.place if isinstance(action, ChangeColumn) else None


def _old_columns(
    columns: _Columns, actions: Sequence[Action], mode: ConversionMode
) -> dict[int, _Slot]:
    """Add the columns that keep their position; return the moved ones, by id of their action."""
    acting = _by_old_name(columns.definition, actions)
    convert = next((a for a in actions if isinstance(a, ConvertCharset)), None)
    placed: dict[int, _Slot] = {}
    for column in columns.definition.columns:
        action = acting.get(column.name.casefold())
        if isinstance(action, DropColumn):
            columns.changed[column.name] = None
        elif isinstance(action, ChangeColumn):
            slot = _change(columns, column, action, mode)
            columns.changed[column.name] = slot.column.name
            if action.column.place is None:
                columns.slots.append(slot)
            else:
                placed[id(action)] = slot
        else:
            new = action.new if isinstance(action, RenameColumn) else column.name
            columns.changed[column.name] = new
            kept = replace(column, name=new)
            columns.slots.append(_Slot(kept, ColumnStep(new, column.name)))
    if convert is not None:
        _convert(columns, replace(mode, charset=convert.charset))
        _check_sources(columns)
    return placed


def _unchanged(
    definition: TableDefinition, actions: Sequence[Action]
) -> Iterator[ColumnDefinition]:
    """Yield the columns that a statement leaves as they are."""
    acting = _by_old_name(definition, actions)
    if not any(isinstance(action, ConvertCharset) for action in actions):
        yield from (c for c in definition.columns if c.name.casefold() not in acting)


def _convert(columns: _Columns, mode: ConversionMode) -> None:
    """Convert text to another charset: it stays the same if that has all its characters."""
    try:
        mode.require_text_kept()
    except UnknownConversionError as error:
        raise NotAppliedError(
            f"its text is converted to another character set, with an unknown result: {error}"
        ) from error
    for slot in columns.slots:
        if slot.column.collation not in (None, BINARY_COLLATION):
            slot.column = with_charset(slot.column, mode.charset)


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


def _change(
    columns: _Columns, old: ColumnDefinition, action: ChangeColumn, mode: ConversionMode
) -> _Slot:
    declared = column_in_charset(action.column, columns.model)
    new = declared.definition
    if old.name in columns.definition.key:
        new = replace(new, nullable=False)
    try:
        how = conversion(old, new, replace(mode, charset=declared.charset))
    except UnknownConversionError as error:
        raise NotAppliedError(
            f"column {old.name} is changed, and its new values are not certain: {error}"
        ) from error
    _check_computed(columns, old, declared, mode)
    _check_nulls(old, new, declared, mode)
    if not keeps_generated(columns.model, old, declared, how, mode):
        raise NotAppliedError(
            f"column {old.name} changes, and so may the values of columns generated from it"
        )
    return _Slot(new, ColumnStep(new.name, old.name, how))


def _check_sources(columns: _Columns) -> None:
    """Raise `NotAppliedError` if a generated column may depend on the bytes of converted text."""
    for slot in columns.slots:
        old, model = slot.step.old, columns.model
        is_text = slot.column.collation not in (None, BINARY_COLLATION)
        if is_text and old and model and model.generates_from(old):
            raise NotAppliedError(
                f"text of column {old}, from which others are generated, is converted"
            )


def _check_nulls(
    old: ColumnDefinition, new: ColumnDefinition, declared: NewColumn, mode: ConversionMode
) -> None:
    """Raise `NotAppliedError` if NULL becomes the statement's time, as it does in any sql_mode."""
    if new.type is not ColumnType.TIMESTAMP2 or not old.nullable or declared.explicit_null:
        return
    if not (new.nullable and mode.explicit_timestamps):
        raise NotAppliedError(
            f"column {old.name} becomes NOT NULL, and its NULLs become the statement's time"
        )


def _check_computed(
    columns: _Columns,
    old: ColumnDefinition,
    declared: NewColumn,
    mode: ConversionMode,
) -> None:
    """Raise `NotAppliedError` if the server recomputes existing values."""
    model = columns.model
    if declared.computed == "AUTO_INCREMENT":
        zeros_stay = mode.sql_mode & SqlMode.NO_AUTO_VALUE_ON_ZERO
        was = model is not None and (model.auto_increment or "").casefold() == old.name.casefold()
        if not was and (old.nullable or not zeros_stay):
            raise NotAppliedError(
                f"column {old.name} becomes AUTO_INCREMENT, and its zeros and NULLs become numbers"
                " that are not in the log"
            )
    elif declared.computed:
        raise NotAppliedError(f"column {old.name} becomes {declared.computed}")


def _add(
    columns: _Columns,
    action: AddColumn,
    actions: Sequence[Action],
    mode: ConversionMode,
    default: Callable[[NewColumn], str | None],
) -> None:
    name = action.column.definition.name
    if action.if_not_exists and any(
        slot.column.name.casefold() == name.casefold() for slot in columns.slots
    ):
        return
    column = column_in_charset(action.column, columns.model)
    try:
        if action.column.expression:
            unchanged = _unchanged(columns.definition, actions)
            expression, how = generated(action.column, unchanged, mode)
            step = ColumnStep(name, convert=how, generated=expression)
        else:
            step = ColumnStep(name, text=default(column))
    except UnknownDefaultError as error:
        raise NotAppliedError(str(error)) from error
    except UnknownExpressionError as error:
        raise NotAppliedError(
            f"column {name} is added, and its value in existing rows is not in the log: a"
            f" generated column ({error})"
        ) from error
    columns.add(_Slot(column.definition, step), column.place)


def _result(
    columns: _Columns,
    actions: Sequence[Action],
    inserted: Callable[[NewColumn], ColumnDefault],
) -> Alteration:
    before = columns.definition
    names = [slot.column.name for slot in columns.slots]
    kept = [
        (names.index(new), prefix)
        for name, prefix in zip(before.key, before.primary_key_prefixes, strict=True)
        if (new := columns.changed[name]) is not None
    ]
    definition = replace(
        before,
        columns=tuple(slot.column for slot in columns.slots),
        primary_key=tuple(place for place, _ in kept),
        primary_key_prefixes=tuple(prefix for _, prefix in kept),
        hidden=(),
    )
    model = columns.model
    if model is not None:
        model = model.renamed(columns.changed, _declared(actions))
        model = model.with_defaults(map(inserted, _with_defaults(columns, actions)))
        model = replace(model, keys=altered_keys(model.keys, columns.changed, actions))
    return Alteration(
        definition,
        model,
        tuple(slot.step for slot in columns.slots),
        any(map(_concerns_keys, actions)),
    )


def _declared(actions: Iterable[Action]) -> list[NewColumn]:
    return [a.column for a in actions if isinstance(a, (AddColumn, ChangeColumn))]


def _with_defaults(columns: _Columns, actions: Iterable[Action]) -> Iterator[NewColumn]:
    """Yield the columns whose DEFAULTs are declared, as they are after the statement."""
    now = {slot.column.name: slot for slot in columns.slots}
    for action in actions:
        if isinstance(action, ChangeDefault):
            yield from _with_default(columns, action, now)
        elif isinstance(action, (AddColumn, ChangeColumn)):
            slot = now.get(action.column.definition.name)
            # ADD COLUMN IF NOT EXISTS and CHANGE COLUMN IF EXISTS may have been no-ops.
            if slot and (slot.step.old is None) == isinstance(action, AddColumn):
                yield replace(action.column, definition=slot.column)


def _with_default(
    columns: _Columns, action: ChangeDefault, now: Mapping[str, _Slot]
) -> Iterator[NewColumn]:
    names = {old.casefold(): new for old, new in columns.changed.items()}
    if action.name.casefold() in names:
        new = names[action.name.casefold()]
        if new is not None:
            column = now[new].column
            yield NewColumn(column, changed_default(column, action.default))
    elif not action.if_exists:
        raise NotAppliedError(f"the table has no column {action.name}")


def _concerns_keys(action: Action) -> bool:
    """Return True if the action may change the key that the server logs.

    A UNIQUE key counts as primary while all its columns are NOT NULL.
    """
    if isinstance(action, (ChangeKeys, DropColumn, ChangeColumn, AddPeriod)):
        return True
    return isinstance(action, AddColumn) and (action.column.primary or action.column.unique)
