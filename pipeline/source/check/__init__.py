"""`binlake check`: whether a source server is ready for replication, and what to change."""

from __future__ import annotations

from typing import TYPE_CHECKING

from decoder.lazy_names import lazy_names

if TYPE_CHECKING:
    from pipeline.source.check.report import CheckReport

__all__ = ["CheckReport", "facts", "finding", "report", "run", "tables", "variables"]

if not TYPE_CHECKING:
    __getattr__ = lazy_names(__name__, {"pipeline.source.check.report": "CheckReport"})
