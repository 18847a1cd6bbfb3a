"""Parse DDL text into effects on tables."""

from __future__ import annotations

__all__ = [
    "actions",
    "addresses",
    "charsets",
    "column_types",
    "conversion_mode",
    "cursor",
    "ddl",
    "defaults",
    "dml",
    "dump",
    "effects",
    "expression_reader",
    "expressions",
    "foreign_key",
    "keys",
    "lexer",
    "logged_effects",
    "model",
    "names",
    "partition_clause",
    "partitions",
]
