"""Initial snapshots (`binlake seed`): rows of a server or a dump, staged for silver."""

from __future__ import annotations

__all__ = ["job"]
