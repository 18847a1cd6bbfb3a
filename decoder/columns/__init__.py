"""Column readers: the cells of one column to one Arrow array.

A column's reader is chosen once per table definition. Contract: `decoder.rows.walker` has checked
all bounds, so readers do not. A cell's position is the first byte of its content (after a length
prefix), −1 for NULL. `Cells.buffer` has at least `SLACK` readable bytes after its last event and
`HEAD_SLACK` before its first, so wide loads and 32-byte copies at any valid cell stay inside it. A
reader never raises for a value that MySQL can store. A value that Arrow cannot represent exactly (a
zero date, bytes invalid in their charset) is replaced by null or U+FFFD, and its row is listed in
`Column.lossy`.
"""

from __future__ import annotations

from decoder.columns.cells import HEAD_SLACK, SLACK, Cells, Column, ColumnReader

__all__ = [
    "HEAD_SLACK",
    "SLACK",
    "Cells",
    "Column",
    "ColumnReader",
    "addresses",
    "arrays",
    "binary",
    "cells",
    "charsets",
    "decimals",
    "json_diffs",
    "json_numbers",
    "registry",
    "temporal",
    "text",
    "values",
    "vector",
]
