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
    "effects",
    "expression_reader",
    "expressions",
    "foreign_key_clause",
    "keys",
    "lexer",
    "logged_effects",
    "model",
    "names",
    "partition_clause",
    "partitions",
    "schema_dump",
]
