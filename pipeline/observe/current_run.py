"""The run under way: its id, and the batches that it has finished so far.

Ledgers take the run's id and tell it each batch that they finish. So a run that fails knows what it
did before, and plans, records, log lines and the run's own record are all found by one id.
"""

from __future__ import annotations

import uuid
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass, field
from typing import Any


@dataclass(frozen=True, slots=True)
class FinishedBatch:
    """A batch that a run carried out, and its record in the ledger.

    `planned_by`: the id of the run that planned it. Where that is another, it was killed before it
    was done, or is at it too.
    """

    layer: str
    batch: int
    planned_by: str
    record: Mapping[str, Any]


@dataclass(slots=True)
class UnderWay:
    """One run; `source` is the one that it is of."""

    source: str = ""
    id: str = field(default_factory=lambda: uuid.uuid4().hex)
    finished: list[FinishedBatch] = field(default_factory=list)


_UNDER_WAY: ContextVar[UnderWay | None] = ContextVar("binlake_run", default=None)


@contextmanager
def begin(source: str) -> Iterator[UnderWay]:
    """A run of the source, under way in this thread until the block ends."""
    run = UnderWay(source)
    token = _UNDER_WAY.set(run)
    try:
        yield run
    finally:
        _UNDER_WAY.reset(token)


def under_way() -> UnderWay | None:
    """The run that this thread is at; None where a layer's job is called by itself."""
    return _UNDER_WAY.get()


def run_id() -> str:
    """The id of the run under way, or a new one."""
    run = under_way()
    return run.id if run else uuid.uuid4().hex
