"""Whether columns that are generated from one that ALTER TABLE changes stay what they are."""

from __future__ import annotations

from decoder.columns.charsets import charset_of
from decoder.model.definition import ColumnDefinition
from pipeline.catalog.alter.conversions import same_value
from pipeline.catalog.ddl.actions import NewColumn
from pipeline.catalog.ddl.addresses import may_be_address
from pipeline.catalog.ddl.conversion_mode import VALUES_CHANGE, ConversionMode
from pipeline.catalog.ddl.model import TableModel


def keeps_generated(
    model: TableModel | None,
    old: ColumnDefinition,
    declared: NewColumn,
    how: str | None,
    mode: ConversionMode,
) -> bool:
    """Whether what is generated from a column stays what it is."""
    changes = (how or "").partition(":")[0] in VALUES_CHANGE
    if model is None:
        return not changes
    if not model.generates_from(old.name):
        return True
    if mode.mariadb and may_be_address(old):
        return False  # as text it may be another now
    charset = charset_of(old.collation) if old.collation is not None else None
    same_bytes = declared.charset in (None, charset)
    return same_bytes and not changes and same_value(old, declared.definition)
