"""A page of a lake: its own records as one HTML file, with charts and tables, and no network."""

from __future__ import annotations

__all__ = ["document", "lake_page", "output"]
