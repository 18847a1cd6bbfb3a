"""`binlake check`: is a source server fit to be replicated, and what to change."""

from __future__ import annotations

__all__ = ["report", "run"]
