"""The source server and its binary logs."""

from __future__ import annotations

from typing import TYPE_CHECKING

from decoder.lazy_names import lazy_names

if TYPE_CHECKING:
    from pipeline.source.capture.run import Capture
    from pipeline.source.check.run import check_server
    from pipeline.source.gtid_set import GtidSet
    from pipeline.source.logs.listing import find_binlogs

__all__ = [
    "Capture",
    "GtidSet",
    "capture",
    "check",
    "check_server",
    "find_binlogs",
    "gtid_set",
    "logs",
    "server",
]

if not TYPE_CHECKING:
    __getattr__ = lazy_names(
        __name__,
        {
            "pipeline.source.capture.run": "Capture",
            "pipeline.source.gtid_set": "GtidSet",
            "pipeline.source.check.run": "check_server",
            "pipeline.source.logs.listing": "find_binlogs",
        },
    )
