"""Gold: replicated tables, each equal to the source's table as of one commit, built from silver."""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from pipeline.gold.plan.publication import Cut
    from pipeline.gold.table.state import GoldState

__all__ = [
    "Cut",
    "GoldState",
    "cascades",
    "changes",
    "job",
    "plan",
    "preview",
    "snapshot",
    "table",
]

_MODULES = {
    "Cut": "pipeline.gold.plan.publication",
    "GoldState": "pipeline.gold.table.state",
}

if not TYPE_CHECKING:

    def __getattr__(name: str) -> Any:
        if name not in _MODULES:
            raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
        return getattr(import_module(_MODULES[name]), name)
