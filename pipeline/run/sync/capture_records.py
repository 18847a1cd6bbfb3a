"""Records of a sync's captures: of each that failed, and of the next one that works.

Other captures leave none: what they write is in the records of the rounds that ingest it. A record
is written without a lease, as a seed's is: it changes no table that another run writes.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager

from pipeline.errors import DONE, BinlakeError
from pipeline.lake.lazy_spark import Spark
from pipeline.lake.ledger.run_record import ReportedProblem, RunRecord
from pipeline.lake.ledger.run_store import CAPTURE, last_runs_by_outcome
from pipeline.observe import LayerReport, say
from pipeline.observe.current_run import begin
from pipeline.run.recorder import Recorder
from pipeline.settings import Settings
from pipeline.source.capture.errors import FolderInUseError


class CaptureRecords:
    """Recorder of a source's failed captures, and of the recovery of its capture."""

    def __init__(self, spark: Spark, settings: Settings) -> None:
        self._spark = spark
        self._settings = settings

    @contextmanager
    def failures(self) -> Iterator[None]:
        """Record the error that ends the block, and report it to monitoring; it is raised again.

        Not if another process captures into the folder: then the source is captured.
        """
        try:
            yield
        except FolderInUseError:
            raise
        except Exception as error:
            with self._recorder() as recorder:
                recorder.failed(error)
            raise

    def interrupted(self, error: BinlakeError) -> bool:
        """Record the error after which the capture reconnects, unless the last record is of a
        failure; return True if so."""
        own = self._own()
        if own and own[0].outcome == "failed":
            return False
        with self._recorder() as recorder:
            recorder.failed(error)
        return True

    def works(self) -> bool:
        """Record that the capture works, if the last record is of a failure, or if the webhook has
        yet to accept that the failure is over; return True if so.

        The record may be of another process.
        """
        own = self._own()
        failed = bool(own) and own[0].outcome == "failed"
        if not failed and not (self._settings.notify.url and _last_sent(own)):
            return False
        with self._recorder() as recorder:
            recorder.works_again(repeated=not failed)
        return True

    def _own(self) -> list[RunRecord]:
        """Return the last capture of each outcome, the latest first."""
        lake, source = self._settings.layout, self._settings.source
        return last_runs_by_outcome(self._spark, lake, source, CAPTURE)

    @contextmanager
    def _recorder(self) -> Iterator[_CaptureRecorder]:
        with begin(self._settings.source) as run:
            yield _CaptureRecorder(self._spark, self._settings, CAPTURE, (CAPTURE,), run)


def _last_sent(runs: Iterable[RunRecord]) -> Sequence[ReportedProblem]:
    """Return the open problems that the webhook knows, by the latest record that has them."""
    return next((run.notified for run in runs if run.notified is not None), ())


class _CaptureRecorder(Recorder):
    """Recorder of one capture; only a failed one is reported to lineage."""

    def failed(self, error: BaseException) -> None:
        """Log and record that the capture failed."""
        self.monitor.layer_began(CAPTURE, quietly=True)
        super().failed(error)

    def works_again(self, *, repeated: bool) -> None:
        """Log and record that a failure has passed; if `repeated`, only what the webhook did not
        accept before."""
        self.keep(LayerReport(CAPTURE))
        if not repeated:
            say("cleared", "The capture works again.", layer=CAPTURE)
        with self._only_warning():
            record = self._record(outcome="done", exit_code=DONE)
            record = self.monitor.ended(record, self.reports)
            if self.monitor.has_called or not repeated:
                self._write(record)
