"""Events to transactions: boundaries, statements, GTIDs, faults."""

from __future__ import annotations

__all__ = [
    "boundaries",
    "control_events",
    "counting",
    "event_window",
    "faults",
    "records",
    "savepoints",
    "state",
    "statements",
    "summaries",
]
