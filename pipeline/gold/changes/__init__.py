"""Changes of a batch, reduced to one change per key."""

from __future__ import annotations

__all__ = [
    "blockers",
    "change_stats",
    "changes",
    "drift",
    "faults",
    "fold",
    "fold_partial",
    "images",
    "json_diff",
    "key_checks",
    "keyless",
    "local_fold",
    "log_facts",
    "refusals",
    "small_batch",
    "steps",
    "transactions",
    "xa",
]
