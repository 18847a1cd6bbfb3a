"""The `binlake` command line."""

from __future__ import annotations

from pipeline.cli.app import main

__all__ = ["databricks_task", "main", "show"]
