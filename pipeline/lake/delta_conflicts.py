"""Commit conflicts of Delta: which errors are conflicts, and how often a step is retried.

Needs no PySpark: without it, as for a reader of a lake, no class of errors is a conflict.
"""

from __future__ import annotations

import time
from typing import TYPE_CHECKING

from pipeline.errors import ConcurrentRunError

if TYPE_CHECKING:
    from pyspark.errors import PySparkException

ATTEMPTS = 8
"""How often a step is tried while it conflicts with other commits of the same table."""


def _classes() -> tuple[type[Exception], ...]:
    """Return Delta's exception classes; none without its Python package (Spark Connect clients)."""
    try:
        from delta import exceptions
    except ImportError:
        return ()
    return (
        exceptions.ConcurrentAppendException,
        exceptions.ConcurrentDeleteDeleteException,
        exceptions.ConcurrentDeleteReadException,
        exceptions.ConcurrentTransactionException,
        exceptions.ConcurrentWriteException,
        exceptions.DeltaConcurrentModificationException,
        exceptions.MetadataChangedException,
        exceptions.ProtocolChangedException,
    )


CONFLICTS = _classes()
CONFLICT_CONDITIONS = frozenset(
    {
        "DELTA_CONCURRENT_APPEND",
        "DELTA_CONCURRENT_DELETE_DELETE",
        "DELTA_CONCURRENT_DELETE_READ",
        "DELTA_CONCURRENT_TRANSACTION",
        "DELTA_CONCURRENT_WRITE",
        "DELTA_METADATA_CHANGED",
        "DELTA_PROTOCOL_CHANGED",
    }
)
"""The same conflicts by error condition, if the classes are not available (Spark Connect)."""


def is_conflict(error: PySparkException) -> bool:
    """Return True if a commit failed because of another commit of the same table."""
    from pipeline.lake.child_sessions import condition

    return isinstance(error, CONFLICTS) or condition(error) in CONFLICT_CONDITIONS


def wait_after(attempt: int) -> None:
    """Back off exponentially after a lost attempt."""
    time.sleep(0.1 * 2**attempt)


def conflict_error(what: str) -> ConcurrentRunError:
    """Return the error for a commit that conflicted at every attempt."""
    return ConcurrentRunError(
        f"{what} lost {ATTEMPTS} times to other writers.",
        remedy="Run again once the other run is done.",
    )
