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
    "log_facts",
    "patched_json",
    "refusals",
    "small_batch",
    "steps",
    "transactions",
    "xa",
]
