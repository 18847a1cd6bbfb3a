"""What gold's tables are called: the one place that turns a source's table into a reference.

A reference is a path or, with a catalog, a quoted name; `pipeline.lake.delta` takes either.
"""

from __future__ import annotations

import re
from collections.abc import Iterable

from pipeline.catalog import TableName
from pipeline.lake.sql_text import quoted
from pipeline.settings import Settings

LSN = "__lsn"
COMMITTED_AT = "__committed_at"
OWN_COLUMNS = (LSN, COMMITTED_AT)
"""What gold adds behind a source's columns: the transaction that a row was last changed in."""


_FORBIDDEN = re.compile(r"[./\s\x00-\x1f\x7f]")
"""What Unity Catalog takes in no name."""
_SPARK_CATALOG = "spark_catalog"
_WORD = re.compile("[A-Za-z0-9_]+")
"""What a name in Spark's own catalog is."""


def why_no_name(settings: Settings, name: TableName, others: Iterable[TableName]) -> str | None:
    """Why a source's table cannot have a gold table of its name in the catalog, if it cannot.

    `others`: the tables that have theirs. Catalogs know no capitals.
    """
    if settings.catalog is None:
        return None
    remedy = "Leave it out with exclude in conf, or have gold as paths, without a catalog."
    if not all(_fits(part, settings.catalog) for part in (name.schema, name.table)):
        return f"{name} is no name for a table in the catalog {settings.catalog}. {remedy}"
    for other in others:
        if other != name and is_same_place(settings, name, other):
            told = f"The catalog {settings.catalog} does not tell {name} from {other}"
            return f"{told}, which has the place. {remedy}"
    return None


def is_same_place(settings: Settings, name: TableName, other: TableName) -> bool:
    """Whether two tables have one place in gold: in a catalog, names that differ in case alone."""
    if settings.catalog is None:
        return name == other
    return str(name).lower() == str(other).lower()


def _fits(part: str, catalog: str) -> bool:
    if catalog == _SPARK_CATALOG:
        return _WORD.fullmatch(part) is not None
    return _FORBIDDEN.search(part) is None


def gold_name(settings: Settings, schema: str, table: str) -> str:
    """The reference of a source's table in gold."""
    if settings.catalog is None:
        return settings.layout.gold(schema, table)
    return ".".join(quoted(part) for part in (settings.catalog, schema, table))
