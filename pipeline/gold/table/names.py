"""Names of gold's tables: the only place that turns a source table into a table reference.

A reference is a path or, with a catalog, a quoted name; `pipeline.lake.delta` takes either.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from types import MappingProxyType

from pipeline.lake.sql_text import quoted
from pipeline.schema_history import TableName
from pipeline.settings import Settings

LSN = "__lsn"
COMMITTED_AT = "__committed_at"
OWN_COLUMNS = (LSN, COMMITTED_AT)
"""Columns that gold adds after the source's: the transaction that last changed the row."""
MEANINGS: Mapping[str, str] = MappingProxyType(
    {
        LSN: "LSN of the transaction that last changed the row; for a row of an initial snapshot"
        " that has not changed since, the LSN of the snapshot.",
        COMMITTED_AT: "When the source committed that transaction. Null for a row from an initial"
        " snapshot that has not changed since.",
    }
)
"""Descriptions of these columns, for people."""

_FORBIDDEN = re.compile(r"[./\s\x00-\x1f\x7f]")
"""Characters that Unity Catalog allows in no name."""
_SPARK_CATALOG = "spark_catalog"
_WORD = re.compile("[A-Za-z0-9_]+")
"""A valid name in Spark's own catalog."""


def why_no_name(settings: Settings, name: TableName, others: Iterable[TableName]) -> str | None:
    """Return why a source table cannot have a gold table of its name in the catalog, or None.

    `others`: the tables that already have one. Catalogs are case-insensitive.
    """
    if settings.catalog is None:
        return None
    remedy = "Leave it out with exclude in the settings, or store gold in paths, without a catalog."
    if not all(_fits(part, settings.catalog) for part in (name.schema, name.table)):
        return f"{name} is not a valid table name in the catalog {settings.catalog}. {remedy}"
    for other in others:
        if other != name and is_same_place(settings, name, other):
            same = f"{name} and {other} are the same name in the catalog {settings.catalog}"
            return f"{same}, and {other} already has a table. {remedy}"
    return None


def is_same_place(settings: Settings, name: TableName, other: TableName) -> bool:
    """Return True if two tables share one place in gold: in a catalog, names ignore case."""
    if settings.catalog is None:
        return name == other
    return str(name).lower() == str(other).lower()


def _fits(part: str, catalog: str) -> bool:
    if catalog == _SPARK_CATALOG:
        return _WORD.fullmatch(part) is not None
    return _FORBIDDEN.search(part) is None


def gold_name(settings: Settings, schema: str, table: str) -> str:
    """Return the reference of a source table in gold: a path, or a quoted name in the catalog."""
    if settings.catalog is None:
        return settings.layout.gold(schema, table)
    return ".".join(quoted(part) for part in (settings.catalog, schema, table))
