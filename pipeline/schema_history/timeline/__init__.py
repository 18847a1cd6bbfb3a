"""Table definitions by position in the log."""

from __future__ import annotations

__all__ = [
    "consequences",
    "definitions_file",
    "logged_statement",
    "seed_items",
    "statements",
    "stored_timeline",
    "tables",
    "timeline",
    "touched",
]
