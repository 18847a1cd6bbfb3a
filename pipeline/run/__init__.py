"""Commands that are runs, records of runs, and the status of a lake."""

from __future__ import annotations

from typing import TYPE_CHECKING

from decoder.lazy_names import lazy_names

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
    "sync",
]

if not TYPE_CHECKING:
    __getattr__ = lazy_names(
        __name__, {"pipeline.run.status": "read_status", "pipeline.run.commands": "run_command"}
    )
