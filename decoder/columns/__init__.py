"""Cells of one column to one Arrow array: a reader per column, chosen once, then a straight loop.

Contract. The walk (`decoder.rows.walker`) has checked every bound, so a reader need not: each
position is the first byte of the value's content (after a length prefix), −1 for NULL.
`Cells.buffer` has at least `SLACK` readable bytes behind its last event and `HEAD_SLACK` before its
first, so that wide loads and 32-byte copies at any valid cell stay inside it. A reader never raises
for a value that MySQL can store; a value that it cannot keep exactly (a zero date, bytes invalid in
their charset) is replaced as the type table says and its row reported in `Column.lossy`.
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
    "bits",
    "cells",
    "charsets",
    "decimals",
    "enums",
    "geometry",
    "integers",
    "json_diffs",
    "json_numbers",
    "registry",
    "temporal",
    "text",
    "validity",
    "values",
    "vector",
]
