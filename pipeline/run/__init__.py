"""Commands that are runs, records of runs, and the status of a lake."""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from pipeline.run.commands import run_command
    from pipeline.run.status import read_status

__all__ = [
    "commands",
    "dbt_sources",
    "operations",
    "preflight",
    "preview",
    "read_status",
    "run_command",
    "setup",
    "status",
]

_MODULES = {"read_status": "pipeline.run.status", "run_command": "pipeline.run.commands"}

if not TYPE_CHECKING:

    def __getattr__(name: str) -> Any:
        if name not in _MODULES:
            raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
        return getattr(import_module(_MODULES[name]), name)
