"""Gold: replicated tables, each equal to the source's table as of one commit, built from silver."""

from __future__ import annotations

from typing import TYPE_CHECKING

from decoder.lazy_names import lazy_names

if TYPE_CHECKING:
    from pipeline.gold.plan.publication import Cut
    from pipeline.gold.table.state import GoldState

__all__ = [
    "Cut",
    "GoldState",
    "cascades",
    "changes",
    "job",
    "plan",
    "preview",
    "snapshot",
    "table",
]

if not TYPE_CHECKING:
    __getattr__ = lazy_names(
        __name__,
        {"pipeline.gold.plan.publication": "Cut", "pipeline.gold.table.state": "GoldState"},
    )
