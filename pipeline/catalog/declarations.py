"""What a CREATE TABLE declares, completed by what is known around it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

from pipeline.catalog.actions import NewColumn
from pipeline.catalog.charsets import UNKNOWN_COLLATION
from pipeline.catalog.column_types import with_charset
from pipeline.catalog.effects import CreateTable
from pipeline.catalog.model import ColumnDefault, TableModel


def in_charset(effect: CreateTable, charset: str | None) -> CreateTable:
    """The table with its schema's charset, if it names none and that is known."""
    if effect.model is None or effect.model.charset is not None or charset is None:
        return effect
    columns = tuple(
        with_charset(column, charset) if column.collation == UNKNOWN_COLLATION else column
        for column in effect.definition.columns
    )
    model = replace(effect.model, charset=charset)
    return replace(effect, definition=replace(effect.definition, columns=columns), model=model)


def declared_model(
    effect: CreateTable, inserted: Callable[[NewColumn], ColumnDefault]
) -> TableModel | None:
    """What DDL tells of the table, with the DEFAULTs of its columns as the key leaves them."""
    if effect.model is None:
        return None
    declared = (
        replace(column, definition=definition)
        for column, definition in zip(effect.columns, effect.definition.columns, strict=True)
    )
    return replace(effect.model, defaults=tuple(map(inserted, declared)))
