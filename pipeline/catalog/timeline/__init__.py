"""Table definitions by position in the log."""

from __future__ import annotations

__all__ = [
    "consequences",
    "definitions",
    "logged",
    "seeded",
    "start",
    "statements",
    "tables",
    "timeline",
    "touched",
]
