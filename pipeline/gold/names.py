"""What gold's tables are called: the one place that turns a source's table into a reference.

A reference is a path or, with a catalog, a quoted name; `pipeline.delta` takes either.
"""

from __future__ import annotations

from pipeline.lake import Lake
from pipeline.settings import Settings
from pipeline.sql_text import quoted

LSN = "__lsn"
COMMITTED_AT = "__committed_at"
OWN_COLUMNS = (LSN, COMMITTED_AT)
"""What gold adds behind a source's columns: the transaction that a row was last changed in."""


def gold_name(settings: Settings, schema: str, table: str) -> str:
    """The reference of a source's table in gold."""
    if settings.catalog is None:
        return Lake(settings.lake).gold(schema, table)
    return ".".join(quoted(part) for part in (settings.catalog, schema, table))
