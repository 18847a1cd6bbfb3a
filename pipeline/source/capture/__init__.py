"""`binlake capture`: a live server's binary logs, landed byte for byte in a folder."""

from __future__ import annotations

__all__ = ["capture_status", "command", "run"]
