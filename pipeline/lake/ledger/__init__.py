"""The ledger of a lake: plans and records of batches, and records of runs."""

from __future__ import annotations

from typing import TYPE_CHECKING

from decoder.lazy_names import lazy_names

if TYPE_CHECKING:
    from pipeline.lake.ledger.run_record import RunRecord

__all__ = ["RunRecord", "history_removed", "ledger", "ledger_table", "run_record", "run_store"]

if not TYPE_CHECKING:
    __getattr__ = lazy_names(__name__, {"pipeline.lake.ledger.run_record": "RunRecord"})
