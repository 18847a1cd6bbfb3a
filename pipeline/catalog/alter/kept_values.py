"""Check that columns generated from an altered column keep their values."""

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
    """Return True if the values generated from a column stay the same."""
    changes = (how or "").partition(":")[0] in VALUES_CHANGE
    if model is None:
        return not changes
    if not model.generates_from(old.name):
        return True
    if mode.mariadb and may_be_address(old):
        return False  # its text may differ now
    charset = charset_of(old.collation) if old.collation is not None else None
    same_bytes = declared.charset in (None, charset)
    return same_bytes and not changes and same_value(old, declared.definition)
