"""A step, which is an idempotent commit to a Delta table, and its conflicts with other commits.

Needs no PySpark: without it, as for a reader of a lake, no class of errors is a conflict.
"""

from __future__ import annotations

import time
from dataclasses import dataclass
from typing import TYPE_CHECKING

from pipeline.errors import ConcurrentRunError

if TYPE_CHECKING:
    from pyspark.errors import PySparkException

ATTEMPTS = 8
"""Number of attempts at a step while it conflicts with other commits of the same table."""
CONFLICT_REMEDY = "Find what else writes to this lake, and run again when it has finished."


@dataclass(frozen=True, slots=True)
class Step:
    """The identity of an idempotent commit: `app` is the writer (layer, source and table),
    `version` its batch. A step is done once its app has reached its version, whatever its rows.

    `note`: the commit's user metadata in Delta, by which its `Commit` is found."""

    app: str
    version: int
    note: str | None = None


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


def conflict_error(table: str, step: Step | None) -> ConcurrentRunError:
    """Return the error for a commit to `table`, of a step if given, that conflicted at every
    attempt."""
    named = f"{table} (step {step.version} of {step.app})" if step else table
    return ConcurrentRunError(
        f"The commit to {named} conflicted with another writer {ATTEMPTS} times and was abandoned;"
        " running again is safe.",
        remedy=CONFLICT_REMEDY,
    )
