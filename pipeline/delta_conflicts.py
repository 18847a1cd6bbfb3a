"""Which errors of Delta's say that another writer came first: the same step may be tried again."""

from __future__ import annotations

from pyspark.errors import PySparkException

from pipeline.sessions import condition


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
    return isinstance(error, CONFLICTS) or condition(error) in CONFLICT_CONDITIONS
