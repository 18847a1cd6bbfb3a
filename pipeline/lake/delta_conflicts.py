"""Another writer came first: which errors say so, and how often the same step is tried again.

Loads no PySpark by itself: readers of a lake import it where there is no Spark.
"""

from __future__ import annotations

import time
from typing import TYPE_CHECKING

from pipeline.errors import ConcurrentRunError

if TYPE_CHECKING:
    from pyspark.errors import PySparkException

ATTEMPTS = 8
"""How often a step is tried again after losing to another commit of the same table."""


def _classes() -> tuple[type[Exception], ...]:
    """Delta's own; none where its Python package is not installed (a client of Spark Connect)."""
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
"""The same by their conditions, where the classes are not known (Spark Connect)."""


def is_conflict(error: PySparkException) -> bool:
    """Whether a commit lost to another one of the same table."""
    from pipeline.lake.child_sessions import condition

    return isinstance(error, CONFLICTS) or condition(error) in CONFLICT_CONDITIONS


def wait_after(attempt: int) -> None:
    """Give the other writers time: the longer, the more attempts were lost."""
    time.sleep(0.1 * 2**attempt)


def never_let(what: str) -> ConcurrentRunError:
    """The error for a commit that lost each time."""
    return ConcurrentRunError(
        f"{what} lost {ATTEMPTS} times to other writers.",
        remedy="Run it again once the other run is done.",
    )
