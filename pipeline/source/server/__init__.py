"""The source server: login, connection, version, and positions in its binary log."""

from __future__ import annotations

__all__ = [
    "connect_timeout",
    "connection",
    "create_statements",
    "errors",
    "log_position",
    "login",
    "refusals",
    "version",
]
