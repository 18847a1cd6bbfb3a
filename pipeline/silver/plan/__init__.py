"""Plan a batch of silver: the segments to decode, and the definitions of their tables."""

from __future__ import annotations

from typing import TYPE_CHECKING

from decoder.lazy_names import lazy_names

if TYPE_CHECKING:
    from pipeline.silver.plan.known_tables import beginning
    from pipeline.silver.plan.survey import (
        Found,
        in_log_order,
        logged_statement,
        table_statements,
        timeline_options,
    )

__all__ = [
    "Found",
    "batch_plan",
    "beginning",
    "in_log_order",
    "known_tables",
    "late_names",
    "logged_statement",
    "new_segments",
    "progress",
    "stored_seeds",
    "survey",
    "table_statements",
    "take_seeds",
    "timeline_options",
]

if not TYPE_CHECKING:
    __getattr__ = lazy_names(
        __name__,
        {
            "pipeline.silver.plan.known_tables": "beginning",
            "pipeline.silver.plan.survey": (
                "Found in_log_order logged_statement table_statements timeline_options"
            ),
        },
    )
