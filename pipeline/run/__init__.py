"""Commands that are runs, records of runs, and the status of a lake."""

from __future__ import annotations

from typing import TYPE_CHECKING

from decoder.lazy_names import lazy_names

if TYPE_CHECKING:
    from pipeline.run.commands import exit_code, run_command
    from pipeline.run.operations import lake_status, run_record, sync_record, verification
    from pipeline.run.status import Status, TableStatus, read_status

__all__ = [
    "Status",
    "TableStatus",
    "commands",
    "dbt_sources",
    "exit_code",
    "lake_status",
    "operations",
    "preflight",
    "preview",
    "read_status",
    "run_command",
    "run_record",
    "setup",
    "status",
    "sync",
    "sync_record",
    "verification",
]

if not TYPE_CHECKING:
    __getattr__ = lazy_names(
        __name__,
        {
            "pipeline.run.commands": "exit_code run_command",
            "pipeline.run.operations": "lake_status run_record sync_record verification",
            "pipeline.run.status": "Status TableStatus read_status",
        },
    )
