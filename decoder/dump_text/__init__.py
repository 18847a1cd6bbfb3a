"""Kernels that parse the text of SQL dumps: rows and statement boundaries."""

from __future__ import annotations

from decoder.dump_text.rows import ENDED, FULL, WRONG, insert_rows, line_rows, skip_space
from decoder.dump_text.statements import statement_end

__all__ = [
    "ENDED",
    "FULL",
    "WRONG",
    "insert_rows",
    "line_rows",
    "rows",
    "skip_space",
    "statement_end",
    "statements",
]
