"""Complete the declarations of a CREATE or ALTER TABLE from their context."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace

from pipeline.catalog.ddl.actions import Action, ConvertCharset, NewColumn, SetCharset
from pipeline.catalog.ddl.charsets import UNKNOWN_COLLATION
from pipeline.catalog.ddl.column_types import with_charset
from pipeline.catalog.ddl.effects import CreateTable
from pipeline.catalog.ddl.model import ColumnDefault, TableModel


def in_charset(effect: CreateTable, charset: str | None) -> CreateTable:
    """Return the table with its schema's charset, if it names none and that is known."""
    if effect.model is None or effect.model.charset is not None or charset is None:
        return effect
    columns = tuple(
        with_charset(column, charset) if column.collation == UNKNOWN_COLLATION else column
        for column in effect.definition.columns
    )
    model = replace(effect.model, charset=charset)
    return replace(effect, definition=replace(effect.definition, columns=columns), model=model)


def in_new_charset(model: TableModel | None, actions: Sequence[Action]) -> TableModel | None:
    """Return the model in the charset that an ALTER names, which its declarations default to."""
    named = [a.charset for a in actions if isinstance(a, (SetCharset, ConvertCharset))]
    return replace(model, charset=named[-1]) if model is not None and named else model


def column_in_charset(column: NewColumn, model: TableModel | None) -> NewColumn:
    """Return the column in the table's charset, if its declaration names none."""
    open_ = column.charset is None and column.definition.collation == UNKNOWN_COLLATION
    if not open_ or model is None:
        return column
    return replace(column, definition=with_charset(column.definition, model.charset))


def declared_model(
    effect: CreateTable, inserted: Callable[[NewColumn], ColumnDefault]
) -> TableModel | None:
    """Return the table's model with its columns' defaults; the key makes columns NOT NULL."""
    if effect.model is None:
        return None
    declared = (
        replace(column, definition=definition)
        for column, definition in zip(effect.columns, effect.definition.columns, strict=True)
    )
    return replace(effect.model, defaults=tuple(map(inserted, declared)))
