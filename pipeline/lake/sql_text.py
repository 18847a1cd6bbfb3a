"""Names and values as SQL text reads them.

What cannot be said by DataFrames (CREATE, ALTER, UPDATE, DELETE, DESCRIBE) is said in SQL: that is
the same to a Spark in this process, to Spark Connect and to Databricks.
"""

from __future__ import annotations

import re

_PLAIN = re.compile(r"[A-Za-z0-9 _.:,+-]*")


def quoted(name: str) -> str:
    """A name of any characters as one identifier."""
    return "`" + name.replace("`", "``") + "`"


def unquoted(name: str) -> str:
    """The same back; a name that needs no quotes may come without."""
    return name[1:-1].replace("``", "`") if name.startswith("`") else name


def is_name(table: str) -> bool:
    """Whether a reference of a table is a (quoted) name in a catalog, and not a path."""
    return table.startswith("`")


def in_sql(table: str) -> str:
    """A reference of a Delta table: a name in a catalog as it is, a path as Delta's."""
    return table if is_name(table) else f"delta.{quoted(table)}"


def literal(text: str) -> str:
    """A string of any characters as a literal, whatever `spark.sql.parser` settings say of `\\`."""
    if _PLAIN.fullmatch(text):
        return f"'{text}'"
    return f"CAST(X'{text.encode().hex()}' AS STRING)"
