"""Settings: one validated model from a file, environment variables and command line options."""

from __future__ import annotations

from typing import TYPE_CHECKING

from decoder.lazy_names import lazy_names

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

if not TYPE_CHECKING:
    __getattr__ = lazy_names(__name__, {"pipeline.settings.settings": "Settings"})
