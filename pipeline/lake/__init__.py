"""A lake's layout, tables, ledger and locks: where its data lies, how it is read and committed."""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from pipeline.lake.layout import Lake
    from pipeline.lake.ledger.ledger import Ledger

__all__ = [
    "Lake",
    "Ledger",
    "child_sessions",
    "dealing",
    "delta",
    "delta_log",
    "delta_step",
    "files",
    "layout",
    "lazy_spark",
    "ledger",
    "locks",
    "sql_text",
    "stores",
    "tables",
]

_MODULES = {"Lake": "pipeline.lake.layout", "Ledger": "pipeline.lake.ledger.ledger"}

if not TYPE_CHECKING:

    def __getattr__(name: str) -> Any:
        if name not in _MODULES:
            raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
        return getattr(import_module(_MODULES[name]), name)
