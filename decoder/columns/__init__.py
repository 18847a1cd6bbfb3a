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

from typing import TYPE_CHECKING

from decoder.lazy_names import lazy_names

if TYPE_CHECKING:
    from decoder.columns.addresses import address_text
    from decoder.columns.arrays import Int64s
    from decoder.columns.binary import binary_reader
    from decoder.columns.cells import HEAD_SLACK, SLACK, CellError, Cells, Column, ColumnReader
    from decoder.columns.json_numbers import double_text
    from decoder.columns.registry import reader, row_type
    from decoder.columns.temporal import fields_reader
    from decoder.columns.text import charset_reader
    from decoder.columns.values import copied

__all__ = [
    "HEAD_SLACK",
    "SLACK",
    "CellError",
    "Cells",
    "Column",
    "ColumnReader",
    "Int64s",
    "address_text",
    "arrays",
    "binary_reader",
    "cells",
    "charset_reader",
    "charsets",
    "copied",
    "double_text",
    "fields_reader",
    "json_diffs",
    "reader",
    "registry",
    "row_type",
    "values",
]

if not TYPE_CHECKING:
    __getattr__ = lazy_names(
        __name__,
        {
            "decoder.columns.addresses": "address_text",
            "decoder.columns.arrays": "Int64s",
            "decoder.columns.binary": "binary_reader",
            "decoder.columns.cells": "CellError Cells Column ColumnReader HEAD_SLACK SLACK",
            "decoder.columns.json_numbers": "double_text",
            "decoder.columns.registry": "reader row_type",
            "decoder.columns.temporal": "fields_reader",
            "decoder.columns.text": "charset_reader",
            "decoder.columns.values": "copied",
        },
    )
