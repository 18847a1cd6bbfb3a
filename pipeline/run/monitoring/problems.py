"""Problems of a run for the webhook: which are new, which are over, which stay open.

The problems already sent are in the records of earlier runs, so each problem is sent once: when
it appears, and when it is over. A call that failed is repeated by the next run.
"""

from __future__ import annotations

import shlex
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Literal

from pipeline.errors import BinlakeError
from pipeline.gold import GoldState
from pipeline.lake.ledger.run_record import ReportedProblem, RunRecord
from pipeline.observe import LayerReport, redact
from pipeline.settings import Settings

ProblemKind = Literal["failed", "held", "gap", "fault"]

EVERY_TABLE = "every table"
"""The subject of a problem that holds all tables of the source."""
SILVER_FAULT = ("silver", "fault")
"""Reported only by the run that finds it: when it is not reported again, it is not over."""


@dataclass(frozen=True, slots=True)
class Problem:
    """A problem to report: `subject` is the table, the error's class, or the sentence itself.

    `remedy` is what to do if `reason` does not say it.
    """

    layer: str
    kind: ProblemKind
    subject: str
    reason: str
    remedy: str = ""

    @property
    def reported(self) -> ReportedProblem:
        """The problem as records keep it."""
        return ReportedProblem(self.layer, self.kind, self.subject)


@dataclass(frozen=True, slots=True)
class ProblemChanges:
    """Changes of the problems that the webhook knows.

    `known`: those that it knew before. `open`: those that it knows once it has been called.
    """

    new: tuple[Problem, ...]
    resolved: tuple[ReportedProblem, ...]
    known: tuple[ReportedProblem, ...]
    open: tuple[ReportedProblem, ...]

    @property
    def worth_a_call(self) -> bool:
        """True if the webhook does not know the current state."""
        return bool(self.new or self.resolved)


def problems_of(
    settings: Settings, reports: Iterable[LayerReport], gold: GoldState | None
) -> Iterator[Problem]:
    """Yield the problems of layers that ended normally; `gold`: None if it could not be read."""
    for report in reports:
        held = list(_held(settings, gold)) if gold and report.layer == "gold" else []
        yield from held
        sentences = set(gold.held()) if gold and held else set()
        for fault in map(redact, (one for one in report.faults if one not in sentences)):
            yield Problem(report.layer, "fault", fault, fault)
        for gap in map(redact, report.gaps):
            yield Problem(report.layer, "gap", gap, gap)


def _held(settings: Settings, gold: GoldState) -> Iterator[Problem]:
    retry = ["binlake", "retry", "--source", settings.source, "--lake", settings.lake]
    remedy = f"Once its cause is fixed, run: {shlex.join(retry)}"
    for name, table in sorted(gold.tables.items()):
        if table.held:
            yield Problem("gold", "held", str(name), table.held, remedy)
    if gold.cut_held:
        yield Problem("gold", "held", EVERY_TABLE, gold.cut_held, remedy)


def failure_of(record: RunRecord, layer: str, error: BaseException) -> Problem:
    """Return the problem of a run that an error ended in a layer."""
    remedy = error.remedy if isinstance(error, BinlakeError) else ""
    if not remedy and record.retryable:
        remedy = "Run the same command again."
    return Problem(layer, "failed", type(error).__name__, record.error or "", remedy)


def changes_since(
    earlier: Sequence[RunRecord], record: RunRecord, found: Sequence[Problem]
) -> ProblemChanges:
    """Return what is new and what is over since earlier runs.

    Only layers that ended normally in this run can show that a problem is over: those of its other
    layers stay open.
    """
    known = {
        problem: None
        for layer in record.layers
        for problem in _known_of(earlier, layer)
        if problem.layer == layer
    }
    now = {problem.reported: problem for problem in found}
    carried = [one for one in known if one not in now and one.layer not in record.layer_seconds]
    over = [one for one in known if one not in now and one.layer in record.layer_seconds]
    return ProblemChanges(
        new=tuple(problem for one, problem in now.items() if one not in known),
        resolved=tuple(one for one in over if (one.layer, one.kind) != SILVER_FAULT),
        known=tuple(known),
        open=(*carried, *now),
    )


def _known_of(earlier: Sequence[RunRecord], layer: str) -> Sequence[ReportedProblem]:
    """Return what the webhook knows of a layer: by the last run of it that had a webhook."""
    runs = [run for run in earlier if layer in run.layers and run.notified is not None]
    last = max(runs, key=lambda run: run.started_at, default=None)
    return () if last is None else last.notified or ()
