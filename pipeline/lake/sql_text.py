"""Identifiers and literals in SQL text.

CREATE, ALTER, UPDATE, DELETE and DESCRIBE, which DataFrames lack, are run as SQL: it works the same
with Spark in this process, with Spark Connect and on Databricks.
"""

from __future__ import annotations

import re

_PLAIN = re.compile(r"[A-Za-z0-9 _.:,+-]*")


def quoted(name: str) -> str:
    """Quote a name of any characters as one identifier."""
    return "`" + name.replace("`", "``") + "`"


def unquoted(name: str) -> str:
    """Return the name of a quoted identifier; an unquoted one is returned as it is."""
    return name[1:-1].replace("``", "`") if name.startswith("`") else name


def is_name(table: str) -> bool:
    """Return True if a table reference is a (quoted) name in a catalog, False if it is a path."""
    return table.startswith("`")


def in_sql(table: str) -> str:
    """Return a table reference for SQL: a name in a catalog as it is, a path as delta.`path`."""
    return table if is_name(table) else f"delta.{quoted(table)}"


def literal(text: str) -> str:
    """Return any string as a literal, whatever `spark.sql.parser` settings do with `\\`."""
    if _PLAIN.fullmatch(text):
        return f"'{text}'"
    return f"CAST(X'{text.encode().hex()}' AS STRING)"
