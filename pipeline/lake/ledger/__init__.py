"""The ledger of a lake: plans and records of batches, and records of runs."""

from __future__ import annotations

__all__ = ["history_removed", "ledger", "ledger_table", "run_record", "run_store"]
