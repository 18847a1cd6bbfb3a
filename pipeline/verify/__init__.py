"""Verify: check that gold equals its source, by checksums computed on both sides."""

from __future__ import annotations

from typing import TYPE_CHECKING

from decoder.lazy_names import lazy_names

if TYPE_CHECKING:
    from pipeline.verify.report import Verification

__all__ = ["Verification", "comparison_record", "report", "run", "script", "snapshot"]

if not TYPE_CHECKING:
    __getattr__ = lazy_names(__name__, {"pipeline.verify.report": "Verification"})
