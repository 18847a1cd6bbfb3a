"""Reports of one run to monitoring: lineage of its layers, and metrics and a webhook at its end.

Nothing that fails there stops a run, or delays it by more than some seconds: a failure is logged
and kept in the run's record.
"""

from __future__ import annotations

import logging
import threading
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import Future, TimeoutError as FutureTimeoutError
from contextvars import copy_context
from dataclasses import replace
from typing import Any, Literal, TypeVar

from pipeline.errors import BinlakeError, sentence_of
from pipeline.lake.lazy_spark import Spark
from pipeline.lake.ledger.run_record import ReportedProblem, RunRecord, Sentence
from pipeline.observe import LayerReport, redact, say
from pipeline.observe.current_run import UnderWay
from pipeline.run.monitoring.datasets import LayerDatasets, datasets_of
from pipeline.run.monitoring.lineage import Lineage
from pipeline.run.monitoring.metrics import write_textfile
from pipeline.run.monitoring.problems import (
    ProblemChanges,
    changes_since,
    failure_of,
    problems_of,
)
from pipeline.run.monitoring.source_state import SourceState, read_source_state
from pipeline.run.monitoring.webhook import Webhook, message
from pipeline.settings import Settings

Outlet = Literal["metrics", "lineage", "notify"]
T = TypeVar("T")

LONGEST = 10.0
"""Seconds for what reads the lake or writes a file; calls have timeouts in the settings."""
LONGEST_BY_SPARK = 30.0
"""Seconds for reading a lake in a catalog."""


class MonitoringTimeoutError(BinlakeError):
    """A step of monitoring that took too long."""


class Monitor:
    """Reporter of one run to those that the settings name: metrics, lineage and a webhook."""

    def __init__(self, spark: Spark, settings: Settings, run: UnderWay, command: str) -> None:
        self._spark = spark
        self._settings = settings
        self._run = run
        self._command = command
        self._opened = False
        self._reading = LONGEST if settings.lake_schema is None else LONGEST_BY_SPARK
        self._layer = ""
        self._announced = False
        self._failures: list[Sentence] = []
        self._lineage: Lineage | None = None
        self._webhook: Webhook | None = None
        self.has_called = False
        """True once the webhook has accepted a call: the record has to be kept."""

    def layer_began(self, layer: str, *, quietly: bool = False) -> None:
        """Report that a layer starts; if `quietly`, only once it has worked or failed."""
        self._layer, self._announced = layer, False
        if not quietly:
            self._announce()

    def layer_done(self, report: LayerReport) -> None:
        """Report that a layer ended normally."""
        if report.worked:
            self._announce()
        if self._lineage is not None and self._announced:
            found = self._datasets(report.layer)
            self._send(lambda lineage: lineage.completed(report.layer, found))
        self._layer = ""

    def ended(
        self,
        record: RunRecord,
        reports: Sequence[LayerReport],
        error: BaseException | None = None,
    ) -> RunRecord:
        """Report the end of a run; return its record with what the webhook knows and what failed.

        `error`: the one that ended it. An interrupted run calls no webhook: someone or a scheduler
        ended it.
        """
        self._open()
        if self._layer:
            self._announce()
        if self._lineage is not None and self._layer:
            found, layer = self._datasets(self._layer), self._layer
            interrupted = record.outcome == "interrupted"
            self._send(
                lambda lineage: lineage.failed(
                    layer, found, record.error or "", interrupted=interrupted
                )
            )
        state = self._state()
        if state is not None and self._settings.metrics.textfile is not None:
            self._attempt("metrics", LONGEST, lambda: write_textfile(self._settings, state, record))
        notified = self._notify(record, reports, state, error)
        failures = tuple(self._failures)
        return replace(
            record,
            notified=notified,
            notes=(*failures, *record.notes),
            note_count=record.note_count + len(failures),
        )

    def _announce(self) -> None:
        """Report the start of the layer under way, unless already reported."""
        if not self._announced:
            self._open()
            self._announced, layer = True, self._layer
            self._send(lambda lineage: lineage.started(layer))

    def _open(self) -> None:
        """Prepare what the settings name, the first time: a missing package or token is reported
        when the run starts, not when there is something to send."""
        if self._opened:
            return
        self._opened, settings = True, self._settings
        if settings.lineage.openlineage is not None:
            self._lineage = self._attempt(
                "lineage", LONGEST, lambda: Lineage.of(settings, self._command, self._run.id)
            )
        if settings.notify.url is not None:
            self._webhook = self._attempt("notify", LONGEST, lambda: Webhook.of(settings.notify))

    def _state(self) -> SourceState | None:
        """Return what the lake has of the source; None if nothing needs it, or it is unreadable."""
        if self._settings.metrics.textfile is not None:
            outlet: Outlet = "metrics"
        elif self._settings.notify.url is not None:
            outlet = "notify"
        else:
            return None
        return self._attempt(
            outlet, self._reading, lambda: read_source_state(self._spark, self._settings)
        )

    def _notify(
        self,
        record: RunRecord,
        reports: Sequence[LayerReport],
        state: SourceState | None,
        error: BaseException | None,
    ) -> tuple[ReportedProblem, ...] | None:
        """Call the webhook if it does not know the current state; return what it knows then.

        Returns None if that is not known, so that later runs go by the record of an earlier one.
        """
        if self._settings.notify.url is None or record.outcome == "interrupted":
            return None
        changes = self._attempt(
            "notify", LONGEST, lambda: self._changes(record, reports, state, error)
        )
        if changes is None:
            return None
        is_known = not changes.worth_a_call or self._call(
            lambda: message(self._settings, record, changes, state)
        )
        if state is None:
            return None
        return changes.open if is_known else changes.known

    def _call(self, body: Callable[[], Mapping[str, Any]]) -> bool:
        """Call the webhook; return True if it accepted the call."""
        webhook = self._webhook
        if webhook is None:
            return False

        def call() -> bool:
            webhook.post(body())
            self.has_called = True
            return True

        return self._attempt("notify", self._settings.notify.timeout, call) or False

    def _changes(
        self,
        record: RunRecord,
        reports: Sequence[LayerReport],
        state: SourceState | None,
        error: BaseException | None,
    ) -> ProblemChanges:
        problems = list(problems_of(self._settings, reports, state.gold if state else None))
        if error is not None:
            problems.append(failure_of(record, self._layer or record.layers[0], error))
        return changes_since(state.runs if state else (), record, problems)

    def _datasets(self, layer: str) -> LayerDatasets:
        """Return what a layer read and wrote; nothing if that cannot be read."""
        found = self._attempt(
            "lineage",
            self._reading,
            lambda: datasets_of(self._spark, self._settings, layer, self._run.finished),
        )
        return found or LayerDatasets()

    def _send(self, send: Callable[[Lineage], None]) -> None:
        """Send an event; after the first that fails, the run sends no further events."""
        lineage = self._lineage
        if lineage is None:
            return

        def sent() -> bool:
            send(lineage)
            return True

        if not self._attempt("lineage", self._settings.lineage.timeout, sent):
            self._lineage = None

    def _attempt(self, outlet: Outlet, seconds: float, action: Callable[[], T]) -> T | None:
        """Return what `action` returns; None if it fails or takes too long, which is logged."""
        try:
            return within(seconds, action)
        except Exception as error:
            text = f"{outlet}: {redact(sentence_of(error))}"
            self._failures.append(Sentence("monitoring", text))
            say("monitoring_failed", text, level=logging.WARNING, outlet=outlet)
            return None


def within(seconds: float, action: Callable[[], T]) -> T:
    """Return what `action` returns. It runs in a thread, which is abandoned if it takes longer:
    the resolution of a host's name, or a write to a lost network folder, cannot be ended.

    Raises its error, or MonitoringTimeoutError.
    """
    outcome: Future[T] = Future()

    def act() -> None:
        try:
            outcome.set_result(action())
        except BaseException as error:
            outcome.set_exception(error)

    threading.Thread(target=copy_context().run, args=(act,), daemon=True).start()
    try:
        return outcome.result(seconds)
    except FutureTimeoutError:
        if outcome.done():
            raise
        raise MonitoringTimeoutError(f"gave up after {seconds:g} s.") from None
