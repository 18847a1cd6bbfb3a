"""Maintenance: apply retention, compact and vacuum the lake's tables."""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from pipeline.maintenance.job import run

__all__ = ["job", "run", "tables"]

_MODULES = {"run": "pipeline.maintenance.job"}

if not TYPE_CHECKING:

    def __getattr__(name: str) -> Any:
        if name not in _MODULES:
            raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
        return getattr(import_module(_MODULES[name]), name)
