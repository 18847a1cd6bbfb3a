"""Table definitions by position in the log."""

from __future__ import annotations

from typing import TYPE_CHECKING

from decoder.lazy_names import lazy_names

if TYPE_CHECKING:
    from pipeline.schema_history.timeline.consequences import Consequences, with_consequences
    from pipeline.schema_history.timeline.tables import NO_NAMES

__all__ = [
    "NO_NAMES",
    "Consequences",
    "consequences",
    "definitions_file",
    "logged_statement",
    "seed_items",
    "statements",
    "stored_timeline",
    "tables",
    "timeline",
    "touched",
    "with_consequences",
]

if not TYPE_CHECKING:
    __getattr__ = lazy_names(
        __name__,
        {
            "pipeline.schema_history.timeline.consequences": "Consequences with_consequences",
            "pipeline.schema_history.timeline.tables": "NO_NAMES",
        },
    )
