"""Locks and leases that keep concurrent runs apart."""

from __future__ import annotations

from typing import TYPE_CHECKING

from decoder.lazy_names import lazy_names

if TYPE_CHECKING:
    from pipeline.lake.locks.lock import local_path

__all__ = ["lease", "local_path", "lock"]

if not TYPE_CHECKING:
    __getattr__ = lazy_names(__name__, {"pipeline.lake.locks.lock": "local_path"})
