"""The current run: its id, the batches it has finished so far, and the version that runs.

Ledgers use the run's id and add each batch that they finish. So a failed run knows which batches
it completed, and plans, batch records, log lines and the run's record share one id.
"""

from __future__ import annotations

import threading
import uuid
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from contextvars import ContextVar, copy_context
from dataclasses import dataclass, field
from typing import Any


@dataclass(frozen=True, slots=True)
class FinishedBatch:
    """A batch that a run carried out, and its record in the ledger.

    `planned_by`: the id of the run that planned it. If that is another run, it was killed before
    the batch was finished, or runs concurrently.
    """

    layer: str
    batch: int
    planned_by: str
    record: Mapping[str, Any]


@dataclass(slots=True)
class UnderWay:
    """A run of one source; `logged`: the error that it ends with, once that is in the log."""

    source: str = ""
    id: str = field(default_factory=lambda: uuid.uuid4().hex)
    finished: list[FinishedBatch] = field(default_factory=list)
    logged: BaseException | None = None


UNKNOWN = "unknown"
"""The version of a package that is not installed."""
_UNDER_WAY: ContextVar[UnderWay | None] = ContextVar("binlake_run", default=None)


@contextmanager
def begin(source: str) -> Iterator[UnderWay]:
    """Begin a run of the source, which is this thread's current run until the block ends."""
    run = UnderWay(source)
    token = _UNDER_WAY.set(run)
    try:
        yield run
    finally:
        _UNDER_WAY.reset(token)


def under_way() -> UnderWay | None:
    """Return this thread's current run; None if a layer's job was called directly."""
    return _UNDER_WAY.get()


def run_id() -> str:
    """Return the current run's id, or a new one if no run is under way."""
    run = under_way()
    return run.id if run else uuid.uuid4().hex


def binlake_version() -> str:
    """Return the version of the installed package; `unknown` if it runs without being installed."""
    from importlib import metadata

    try:
        return metadata.version("binlake")
    except metadata.PackageNotFoundError:
        return UNKNOWN


@contextmanager
def repeating(action: Callable[[], object], seconds: float) -> Iterator[None]:
    """Call `action` every so many seconds until the block ends, in a thread whose log lines have
    the current run's id."""
    over = threading.Event()

    def repeat() -> None:
        while not over.wait(seconds):
            action()

    thread = threading.Thread(target=copy_context().run, args=(repeat,), daemon=True)
    thread.start()
    try:
        yield
    finally:
        over.set()
        thread.join()
