"""A source's binary logs where they are stored: listed, opened, decrypted."""

from __future__ import annotations

__all__ = [
    "archive",
    "encrypted",
    "kept_statements",
    "listing",
    "resumed_file",
    "server_folders",
    "server_logs",
    "storage",
]
