"""Silver: bronze's segments, decoded into one Delta table per table definition."""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from pipeline.silver.job import refresh, retry, run

__all__ = ["decode", "full_refresh", "job", "plan", "planning", "refresh", "retry", "run", "tables"]

_MODULES = {
    "refresh": "pipeline.silver.job",
    "retry": "pipeline.silver.job",
    "run": "pipeline.silver.job",
}

if not TYPE_CHECKING:

    def __getattr__(name: str) -> Any:
        if name not in _MODULES:
            raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
        return getattr(import_module(_MODULES[name]), name)
