"""Settings: one validated model from a file, environment variables and command line options."""

from __future__ import annotations

from typing import TYPE_CHECKING

from decoder.lazy_names import lazy_names

if TYPE_CHECKING:
    from pipeline.settings.server import is_server
    from pipeline.settings.settings import EncryptionSettings, Settings
    from pipeline.settings.values import Model, Size

__all__ = [
    "EncryptionSettings",
    "Model",
    "Settings",
    "Size",
    "capture",
    "conf_file",
    "gold",
    "is_server",
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
    __getattr__ = lazy_names(
        __name__,
        {
            "pipeline.settings.server": "is_server",
            "pipeline.settings.settings": "EncryptionSettings Settings",
            "pipeline.settings.values": "Model Size",
        },
    )
