"""Cooperative cancellation of tasks that run in threads of this process.

A thread cannot be killed from outside, so a task that reads for a long time checks here between
two reads. Spark's workers do not need it: Spark kills their tasks itself.
"""

from __future__ import annotations

import threading


class CancelledTaskError(Exception):
    """Raised in the thread of a cancelled task; nobody handles it."""


class _Tasks(threading.local):
    cancelled: threading.Event | None = None


_OF_THIS_THREAD = _Tasks()


def cancel_when_set(cancelled: threading.Event) -> None:
    """Cancel the tasks of this thread once `cancelled` is set."""
    _OF_THIS_THREAD.cancelled = cancelled


def raise_if_cancelled() -> None:
    """Raise CancelledTaskError if the task of this thread was cancelled."""
    cancelled = _OF_THIS_THREAD.cancelled
    if cancelled is not None and cancelled.is_set():
        raise CancelledTaskError
