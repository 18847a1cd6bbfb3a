"""Table definitions over time: the effects of DDL, and the definition in force at each LSN."""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from pipeline.schema_history.ddl.effects import TableName
    from pipeline.schema_history.timeline.timeline import Timeline

__all__ = ["TableName", "Timeline", "alter", "ddl", "timeline"]

_MODULES = {
    "TableName": "pipeline.schema_history.ddl.effects",
    "Timeline": "pipeline.schema_history.timeline.timeline",
}

if not TYPE_CHECKING:

    def __getattr__(name: str) -> Any:
        if name not in _MODULES:
            raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
        return getattr(import_module(_MODULES[name]), name)
