"""Locks and leases that keep concurrent runs apart."""

from __future__ import annotations

__all__ = ["lease", "lock"]
