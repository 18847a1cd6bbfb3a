"""A source's binary log files in their store: listing, opening, decompressing, decrypting."""

from __future__ import annotations

__all__ = [
    "archive",
    "ciphers",
    "kept_statements",
    "listing",
    "server_folders",
    "server_logs",
    "storage",
]
