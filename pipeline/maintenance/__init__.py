"""Maintenance: apply retention, compact and vacuum the lake's tables."""

from __future__ import annotations

from typing import TYPE_CHECKING

from decoder.lazy_names import lazy_names

if TYPE_CHECKING:
    from pipeline.maintenance.job import run

__all__ = ["job", "run", "tables"]

if not TYPE_CHECKING:
    __getattr__ = lazy_names(__name__, {"pipeline.maintenance.job": "run"})
