"""The source server and its binary logs."""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from pipeline.source.capture.run import Capture
    from pipeline.source.check.run import check_server
    from pipeline.source.gtid_set import GtidSet
    from pipeline.source.logs.listing import find_binlogs

__all__ = [
    "Capture",
    "GtidSet",
    "capture",
    "check",
    "check_server",
    "find_binlogs",
    "gtid_set",
    "logs",
    "server",
]

_MODULES = {
    "Capture": "pipeline.source.capture.run",
    "GtidSet": "pipeline.source.gtid_set",
    "check_server": "pipeline.source.check.run",
    "find_binlogs": "pipeline.source.logs.listing",
}

if not TYPE_CHECKING:

    def __getattr__(name: str) -> Any:
        if name not in _MODULES:
            raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
        return getattr(import_module(_MODULES[name]), name)
