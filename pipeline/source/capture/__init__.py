"""`binlake capture`: land a running server's binary logs in a folder, byte for byte."""

from __future__ import annotations

__all__ = ["capture_status", "command", "errors", "object_store", "run"]
