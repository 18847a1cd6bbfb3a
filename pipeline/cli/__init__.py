"""The `binlake` command line, and its commands as tasks of Spark applications and Databricks jobs.

The functions that show reports are imported on first use, so that help is instant.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from decoder.lazy_names import lazy_names
from pipeline.cli.app import main
from pipeline.cli.databricks_task import main as task_main

if TYPE_CHECKING:
    from pipeline.cli.show import show_problems, show_reports

__all__ = ["main", "show_problems", "show_reports", "task_main"]

if not TYPE_CHECKING:
    __getattr__ = lazy_names(__name__, {"pipeline.cli.show": "show_problems show_reports"})
