"""Events to transactions: boundaries, statements, GTIDs, faults."""

from __future__ import annotations

from typing import TYPE_CHECKING

from decoder.lazy_names import lazy_names

if TYPE_CHECKING:
    from decoder.transactions.faults import INCIDENT, STATEMENT_DML
    from decoder.transactions.statements import may_change_tables

__all__ = [
    "INCIDENT",
    "STATEMENT_DML",
    "boundaries",
    "control_events",
    "counting",
    "event_window",
    "faults",
    "may_change_tables",
    "records",
    "savepoints",
    "state",
    "statements",
    "summaries",
]

if not TYPE_CHECKING:
    __getattr__ = lazy_names(
        __name__,
        {
            "decoder.transactions.faults": "INCIDENT STATEMENT_DML",
            "decoder.transactions.statements": "may_change_tables",
        },
    )
