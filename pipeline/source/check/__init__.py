"""`binlake check`: whether a source server is ready for replication, and what to change."""

from __future__ import annotations

__all__ = ["facts", "finding", "report", "run", "tables", "variables"]
