"""The recorder of a run: log lines while it runs and if it fails, and its record at the end.

A record that cannot be written does not change the run: its work stays, and its error is raised.
"""

from __future__ import annotations

import logging
import socket
import threading
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from datetime import datetime, timezone
from types import MappingProxyType
from typing import Any

from pyspark.errors import PySparkException
from pyspark.sql import SparkSession

from pipeline.errors import (
    BinlakeError,
    Interrupted,
    LakeLostError,
    exit_code_of,
    has_sentence,
    sentence_of,
)
from pipeline.lake.lazy_spark import Spark, running
from pipeline.lake.ledger.run_record import Outcome, RunRecord, Sentence
from pipeline.lake.ledger.run_store import append_run
from pipeline.observe import LayerReport, redact, say
from pipeline.observe.current_run import UnderWay, binlake_version
from pipeline.observe.report import NewestFile
from pipeline.observe.run_log import log_is_complete
from pipeline.run.monitoring import Monitor
from pipeline.run.totals import work
from pipeline.settings import Settings

KEPT = 200
"""Sentences of each kind that a record keeps; all are counted and logged."""

_KINDS: Mapping[str, Callable[[LayerReport], Sequence[str]]] = MappingProxyType(
    {
        "fault": lambda report: report.faults,
        "gap": lambda report: report.gaps,
        "note": lambda report: report.notes,
    }
)
LEVELS: Mapping[str, int] = MappingProxyType(
    {"fault": logging.WARNING, "gap": logging.WARNING, "note": logging.INFO}
)
"""The levels at which the sentences of reports are logged, by kind."""
_ENDINGS = {"nothing_new": ": nothing new", "faults": ", with faults or gaps"}


class Recorder:
    """Recorder of one run, from its start to its end."""

    def __init__(
        self,
        spark: Spark,
        settings: Settings,
        command: str,
        layers: Sequence[str],
        run: UnderWay,
    ) -> None:
        self._spark = spark
        self._settings = settings
        self._run = run
        self._failing, self._failed = threading.Lock(), False
        self.reports: list[LayerReport] = []
        self._known: dict[str, Any] = {
            "command": command,
            "layers": tuple(layers),
            "binlake_version": binlake_version(),
            "host": socket.gethostname(),
        }
        self._known |= self._spark_known()
        self._began = datetime.now(timezone.utc)
        self.monitor = Monitor(spark, settings, run, command)

    def run_began(self) -> None:
        """Log that the run starts."""
        settings, message = self._settings, f"{self._known['command']} started"
        place: dict[str, Any] = {"lake": settings.lake, "binlogs": settings.inputs or None}
        say("run_started", message, **self._known, **place)

    def layer_began(self, layer: str) -> None:
        """Log that a layer starts."""
        say("layer_started", f"{layer} started", layer=layer)
        self.monitor.layer_began(layer)

    def layer_done(self, report: LayerReport) -> None:
        """Keep a layer's report, and log its faults, gaps and notes."""
        self.keep(report)
        for kind, layer, text in sentences([report]):
            say(kind, text, level=LEVELS[kind], layer=layer)
        say(
            "layer_finished",
            f"{report.layer} finished",
            layer=report.layer,
            batches=report.batches,
            seconds=round(report.seconds, 3),
        )
        self.monitor.layer_done(report)

    def keep(self, report: LayerReport) -> None:
        """Keep a layer's report for the record."""
        self.reports.append(report)
        self._known |= self._spark_known()

    def done(self, exit_code: int) -> RunRecord | None:
        """Record a run that was not interrupted; return the record, None if it cannot be made."""
        record = None
        worked = any(report.worked for report in self.reports)
        outcome: Outcome = "faults" if exit_code else "done" if worked else "nothing_new"
        with self._only_warning():
            record = self._record(outcome=outcome, exit_code=exit_code)
            try:
                record = self.monitor.ended(record, self.reports)
            finally:  # also if a signal ends the wait for a webhook
                self._say_done(record)
                self._write(record)
        return record

    def idle(self, exit_code: int) -> RunRecord | None:
        """Report a run with nothing new to monitoring; return its record if that has to be kept."""
        outcome: Outcome = "faults" if exit_code else "nothing_new"
        with self._only_warning():
            record = self._record(outcome=outcome, exit_code=exit_code)
            record = self.monitor.ended(record, self.reports)
            if self.monitor.has_called:
                self._write(record)
                return record
        return None

    def failed(self, error: BaseException) -> None:
        """Record a run that an error or a signal ended; the caller raises the error again.

        Of several threads, the first records it and the others wait.
        """
        with self._failing:
            if self._failed:
                return
            self._failed = True
            if self._known["spark_version"] is None:
                with suppress(Exception):  # Spark may have ended since
                    self._known |= self._spark_known()
            ending = _log_failure(self._known["command"], self._run, error)
            with self._only_warning():
                self._record_failure(self._record(**ending), error)

    def _record_failure(self, record: RunRecord, error: BaseException) -> None:
        if isinstance(error, LakeLostError):
            # Its record would be refused; the run that holds the lease now reports what it finds.
            self._write(record)
            return
        if isinstance(error, KeyboardInterrupt):
            # The process ends in some seconds: the record comes first.
            self._write(record)
            self.monitor.ended(record, self.reports, error)
            return
        try:
            record = self.monitor.ended(record, self.reports, error)
        finally:  # also if a signal ends the wait for a webhook
            self._write(record)

    def _spark_known(self) -> dict[str, str | None]:
        """Return Spark's version and application id, read early: Spark may end with the run."""
        session = running(self._spark)
        known = (None, None) if session is None else (session.version, _application(session))
        return dict(zip(("spark_version", "spark_application"), known, strict=True))

    def _record(self, **ending: Any) -> RunRecord:
        known: dict[str, Any] = {}
        for kind in _KINDS:
            found = [(at, text) for one, at, text in sentences(self.reports) if one == kind]
            known[f"{kind}_count"] = len(found)
            known[f"{kind}s"] = tuple(Sentence(at, redact(text)) for at, text in found[:KEPT])
        newest = self._newest_file()
        return RunRecord(
            run_id=self._run.id,
            source=self._settings.source,
            started_at=self._began,
            finished_at=datetime.now(timezone.utc),
            layer_seconds={report.layer: round(report.seconds, 3) for report in self.reports},
            newest_file=newest.name if newest else None,
            newest_file_at=newest.written_at if newest else None,
            **self._known,
            **known,
            **work(self._run.finished, self._run.id, self._began),
            **ending,
        )

    def _say_done(self, record: RunRecord) -> None:
        level = logging.WARNING if record.outcome == "faults" else logging.INFO
        ending = _ENDINGS.get(record.outcome, "")
        if (newest := self._newest_file()) is not None and record.outcome == "nothing_new":
            ending = f"{ending}; {newest.sentence(record.finished_at)}"
        message = f"{record.command} finished{ending}"
        say("run_finished", message, level=level, **record.figures())

    def _newest_file(self) -> NewestFile | None:
        return next((report.newest for report in self.reports if report.newest), None)

    def _write(self, record: RunRecord) -> None:
        append_run(self._spark, self._settings.layout, record)

    @contextmanager
    def _only_warning(self) -> Iterator[None]:
        """Log a failed write; never raise."""
        try:
            yield
        except Exception as error:
            message = f"the run's record was not written: {redact(sentence_of(error))}"
            say("record_not_written", message, level=logging.WARNING)


def sentences(reports: Iterable[LayerReport]) -> Iterator[tuple[str, str, str]]:
    """Yield kind, layer and text of each fault, gap and note."""
    for report in reports:
        for kind, texts in _KINDS.items():
            yield from ((kind, report.layer, text) for text in texts(report))


def _application(spark: SparkSession) -> str | None:
    """Return Spark's application id; None if the server does not return it."""
    try:
        return spark.conf.get("spark.app.id", None)
    except PySparkException:
        return None


def _log_failure(command: str, run: UnderWay, error: BaseException) -> dict[str, Any]:
    """Log the error; return the fields of a run's record that describe it."""
    run.logged = error
    ending: dict[str, Any] = {
        "exit_code": exit_code_of(error),
        "error": redact(sentence_of(error)),
        "error_type": type(error).__name__,
        "retryable": error.retryable if isinstance(error, BinlakeError) else None,
    }
    unexpected = isinstance(error, Exception) and not has_sentence(error)
    failed = not isinstance(error, KeyboardInterrupt)
    ending["outcome"] = "failed" if failed else "interrupted"
    message = f"{command}{' failed' if failed else ''}: {ending['error']}"
    level = logging.ERROR if failed else logging.WARNING
    say("run_failed", message, level=level, trace=error if unexpected else None, **ending)
    if isinstance(error, Interrupted):
        error.reported = log_is_complete()
    return ending


@contextmanager
def failure_logged(command: str, run: UnderWay) -> Iterator[None]:
    """Log the error that ends the block, unless it is in the log already.

    That is an error before the run has a recorder, or after its record: the lease was lost.
    """
    try:
        yield
    except (Exception, KeyboardInterrupt) as error:
        if error is not run.logged:
            _log_failure(command, run, error)
        raise
