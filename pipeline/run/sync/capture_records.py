"""Records of a sync's captures: of each that failed, and of the next one that works.

Other captures leave none: what they land is in the records of the rounds that take it in. A record
is written without a lease, as a seed's is: it changes no table that another run writes.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from pipeline.errors import DONE
from pipeline.lake.lazy_spark import Spark
from pipeline.lake.ledger.run_record import RunRecord
from pipeline.lake.ledger.run_store import last_runs_by_outcome
from pipeline.observe import LayerReport, say
from pipeline.observe.current_run import begin
from pipeline.run.recorder import Recorder
from pipeline.settings import Settings

CAPTURE = "capture"
"""The command and the layer of these records."""


class CaptureRecords:
    """Records failed captures of a source, and that its capture works again."""

    def __init__(self, spark: Spark, settings: Settings) -> None:
        self._spark = spark
        self._settings = settings

    @contextmanager
    def failures(self) -> Iterator[None]:
        """Record the error that ends the block, and report it to monitoring; it is raised again."""
        try:
            yield
        except Exception as error:
            with self._recorder() as recorder:
                recorder.failed(error)
            raise

    def works(self) -> bool:
        """Record that the capture works, if the last record is of a failure, or if the webhook has
        yet to accept that the failure is over; return True if so.

        The record may be of another process, such as one that found the folder in use.
        """
        last = self._last()
        if last is None or not (last.outcome == "failed" or last.notified):
            return False
        with self._recorder() as recorder:
            recorder.works_again(repeated=last.outcome != "failed")
        return True

    def _last(self) -> RunRecord | None:
        own = last_runs_by_outcome(self._spark, self._settings.layout, self._settings.source)
        return next((run for run in own if run.command == CAPTURE), None)

    @contextmanager
    def _recorder(self) -> Iterator[_CaptureRecorder]:
        with begin(self._settings.source) as run:
            yield _CaptureRecorder(self._spark, self._settings, CAPTURE, (CAPTURE,), run)


class _CaptureRecorder(Recorder):
    """Records one capture; only a failed one is reported to lineage."""

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
