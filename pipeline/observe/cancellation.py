"""Ending tasks that run in threads of this process, where nobody waits for them any more.

A thread cannot be ended from outside: a task that reads for long asks here, between two reads,
whether it is still wanted. In Spark's workers nothing cancels a task so, since Spark ends those
itself.
"""

from __future__ import annotations

import threading


class CancelledTaskError(Exception):
    """Raised in the thread of a task that is not wanted any more; nobody looks at it."""


class _Tasks(threading.local):
    cancelled: threading.Event | None = None


_OF_THIS_THREAD = _Tasks()


def heed(cancelled: threading.Event) -> None:
    """Cancel the tasks of this thread once `cancelled` is set."""
    _OF_THIS_THREAD.cancelled = cancelled


def require_wanted() -> None:
    """Raise CancelledTaskError if the task of this thread was cancelled."""
    cancelled = _OF_THIS_THREAD.cancelled
    if cancelled is not None and cancelled.is_set():
        raise CancelledTaskError
