"""Settings: one validated model from a file, environment variables and command line options."""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from pipeline.settings.settings import Settings

__all__ = [
    "Settings",
    "capture",
    "conf_file",
    "gold",
    "meanings",
    "monitoring",
    "secret_file",
    "server",
    "settings",
    "time_zone",
    "until",
    "values",
]

_MODULES = {"Settings": "pipeline.settings.settings"}

if not TYPE_CHECKING:

    def __getattr__(name: str) -> Any:
        if name not in _MODULES:
            raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
        return getattr(import_module(_MODULES[name]), name)
