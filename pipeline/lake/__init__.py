"""A lake's layout, tables, ledger and locks: where its data lies, how it is read and committed."""

from __future__ import annotations

from typing import TYPE_CHECKING

from decoder.lazy_names import lazy_names

if TYPE_CHECKING:
    from pipeline.lake.layout import Lake
    from pipeline.lake.ledger.ledger import Ledger
    from pipeline.lake.stores import error_text

__all__ = [
    "Lake",
    "Ledger",
    "child_sessions",
    "dealing",
    "delta",
    "delta_log",
    "delta_step",
    "error_text",
    "files",
    "layout",
    "lazy_spark",
    "ledger",
    "locks",
    "sql_text",
    "stores",
    "tables",
]

if not TYPE_CHECKING:
    __getattr__ = lazy_names(
        __name__,
        {
            "pipeline.lake.layout": "Lake",
            "pipeline.lake.ledger.ledger": "Ledger",
            "pipeline.lake.stores": "error_text",
        },
    )
