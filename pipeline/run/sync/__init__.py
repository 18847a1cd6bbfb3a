"""`binlake sync`: capture, seed what is missing, and run, once or repeatedly."""

from __future__ import annotations

__all__ = ["command"]
