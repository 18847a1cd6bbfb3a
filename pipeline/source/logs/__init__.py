"""A source's binary log files in their store: listing, opening, decompressing, decrypting."""

from __future__ import annotations

from typing import TYPE_CHECKING

from decoder.lazy_names import lazy_names

if TYPE_CHECKING:
    from pipeline.source.logs.ciphers import read_keys
    from pipeline.source.logs.listing import Binlog, head_of
    from pipeline.source.logs.server_logs import is_only_begun, logs_by_server
    from pipeline.source.logs.storage import StoredFile, opened, read_windows, read_with_retries

__all__ = [
    "Binlog",
    "StoredFile",
    "archive",
    "ciphers",
    "head_of",
    "is_only_begun",
    "kept_statements",
    "listing",
    "logs_by_server",
    "opened",
    "read_keys",
    "read_windows",
    "read_with_retries",
    "server_folders",
    "server_logs",
    "storage",
]

if not TYPE_CHECKING:
    __getattr__ = lazy_names(
        __name__,
        {
            "pipeline.source.logs.ciphers": "read_keys",
            "pipeline.source.logs.listing": "Binlog head_of",
            "pipeline.source.logs.server_logs": "is_only_begun logs_by_server",
            "pipeline.source.logs.storage": "StoredFile opened read_windows read_with_retries",
        },
    )
