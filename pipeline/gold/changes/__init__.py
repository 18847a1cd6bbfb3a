"""Changes of a batch, reduced to one change per key."""

from __future__ import annotations

__all__ = [
    "change_stats",
    "changes",
    "drift",
    "faults",
    "fold",
    "fold_partial",
    "holds",
    "images",
    "key_checks",
    "keyless",
    "local_drift",
    "local_fold",
    "log_facts",
    "patched_json",
    "refusals",
    "row_numbers",
    "small_batch",
    "steps",
    "transactions",
    "xa",
]
