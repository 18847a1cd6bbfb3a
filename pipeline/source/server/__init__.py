"""The source server: who logs in, the connection, and which server it is."""

from __future__ import annotations

__all__ = [
    "connection",
    "create_statements",
    "errors",
    "log_place",
    "login",
    "opening",
    "refusals",
    "version",
]
