"""The decoder's inputs and outputs: segments, options, table definitions, results, schemas."""

from __future__ import annotations

from typing import TYPE_CHECKING

from decoder.lazy_names import lazy_names

if TYPE_CHECKING:
    from decoder.model.definition import ColumnDefinition, Names
    from decoder.model.options import TableFilter
    from decoder.model.results import Changes, Definitions, Faults, Result, Statements, Transactions

__all__ = [
    "Changes",
    "ColumnDefinition",
    "Definitions",
    "Faults",
    "Names",
    "Result",
    "Statements",
    "TableFilter",
    "Transactions",
    "definition",
    "options",
    "results",
    "schemas",
    "segment",
]

if not TYPE_CHECKING:
    __getattr__ = lazy_names(
        __name__,
        {
            "decoder.model.definition": "ColumnDefinition Names",
            "decoder.model.options": "TableFilter",
            "decoder.model.results": "Changes Definitions Faults Result Statements Transactions",
        },
    )
