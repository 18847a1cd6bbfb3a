"""Keeping a run's record while it runs: lines of the log as it goes, and the record at its end.

Whatever becomes of the record, the run is as it would be without: what it did is done, and what
stopped it is raised.
"""

from __future__ import annotations

import logging
import socket
import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from datetime import datetime, timezone
from importlib import metadata
from types import MappingProxyType
from typing import Any

from pyspark.errors import PySparkException
from pyspark.sql import SparkSession

from pipeline.errors import sentence_of
from pipeline.lake.ledger.run_record import Outcome, RunRecord, Sentence
from pipeline.lake.ledger.run_store import append_run
from pipeline.lake.starting import Spark, running
from pipeline.observe import LayerReport, redact, say
from pipeline.observe.current_run import UnderWay
from pipeline.run.failure import Failure
from pipeline.run.work import work
from pipeline.settings import Settings

KEPT = 200
"""So many sentences of each kind are kept; all are counted, and said in the log."""

_KINDS: Mapping[str, tuple[int, Callable[[LayerReport], Sequence[str]]]] = MappingProxyType(
    {
        "fault": (logging.WARNING, lambda report: report.faults),
        "gap": (logging.WARNING, lambda report: report.gaps),
        "note": (logging.INFO, lambda report: report.notes),
    }
)
_ENDINGS = {"nothing_new": ": there was nothing new", "faults": ", with faults or gaps"}


class Recorder:
    """Follows one run from its start to its end."""

    def __init__(
        self,
        spark: Spark,
        settings: Settings,
        command: str,
        layers: Sequence[str],
        run: UnderWay,
        failure: Failure,
    ) -> None:
        self._spark = spark
        self._settings = settings
        self._run = run
        self._failure = failure
        self._failing, self._failed = threading.Lock(), False
        self._reports: list[LayerReport] = []
        self._known: dict[str, Any] = {
            "command": command,
            "layers": tuple(layers),
            "binlake_version": binlake_version(),
            "host": socket.gethostname(),
        }
        self._known |= self._spark_known()
        self._began = datetime.now(timezone.utc)
        place: dict[str, Any] = {"lake": settings.lake, "binlogs": settings.inputs or None}
        say("run_started", f"{command} is started", **self._known, **place)

    def layer_began(self, layer: str) -> None:
        """Say it."""
        say("layer_started", f"{layer} is started", layer=layer)

    def layer_done(self, report: LayerReport) -> None:
        """Keep what it did and met, and say it."""
        self._reports.append(report)
        self._known |= self._spark_known()
        for kind, (level, texts) in _KINDS.items():
            for text in texts(report):
                say(kind, text, level=level, layer=report.layer)
        say(
            "layer_finished",
            f"{report.layer} is done",
            layer=report.layer,
            batches=report.batches,
            seconds=round(report.seconds, 3),
        )

    def done(self, exit_code: int) -> RunRecord | None:
        """Record that the run came to its end; returns the record, None if it cannot be made."""
        record = None
        worked = any(report.worked for report in self._reports)
        outcome: Outcome = "faults" if exit_code else "done" if worked else "nothing_new"
        with self._bearing_all():
            record = self._record(outcome=outcome, exit_code=exit_code)
            level = logging.WARNING if outcome == "faults" else logging.INFO
            told = f"{record.command} is done{_ENDINGS.get(outcome, '')}"
            say("run_finished", told, level=level, **record.figures())
            self._write(record)
        return record

    def failed(self, error: BaseException) -> None:
        """The run was stopped by an error or a signal, which the caller raises again.

        Of several threads that come to it, the first one records it, and the others wait.
        """
        with self._failing:
            if self._failed:
                return
            self._failed = True
            if self._known["spark_version"] is None:
                with suppress(Exception):  # it may have ended since
                    self._known |= self._spark_known()
            ending = self._failure.say(error)
            with self._bearing_all():
                self._write(self._record(**ending))

    def _spark_known(self) -> dict[str, str | None]:
        """Which Spark there is, asked early: a run can end because Spark is gone."""
        session = running(self._spark)
        known = (None, None) if session is None else (session.version, _application(session))
        return dict(zip(("spark_version", "spark_application"), known, strict=True))

    def _record(self, **ending: Any) -> RunRecord:
        told: dict[str, Any] = {}
        for kind, (_, texts) in _KINDS.items():
            said = [(report.layer, text) for report in self._reports for text in texts(report)]
            told[f"{kind}_count"] = len(said)
            told[f"{kind}s"] = tuple(Sentence(at, redact(text)) for at, text in said[:KEPT])
        return RunRecord(
            run_id=self._run.id,
            source=self._settings.source,
            started_at=self._began,
            finished_at=datetime.now(timezone.utc),
            layer_seconds={report.layer: round(report.seconds, 3) for report in self._reports},
            **self._known,
            **told,
            **work(self._run.finished, self._run.id, self._began),
            **ending,
        )

    def _write(self, record: RunRecord) -> None:
        append_run(self._spark, self._settings.layout, record)

    @contextmanager
    def _bearing_all(self) -> Iterator[None]:
        """What goes wrong with the record is said, and nothing more."""
        try:
            yield
        except Exception as error:
            told = f"the run's record was not written: {redact(sentence_of(error))}"
            say("record_not_written", told, level=logging.WARNING)


def _application(spark: SparkSession) -> str | None:
    """Spark's id of it; None where the server does not tell, for which no run is to end."""
    try:
        return spark.conf.get("spark.app.id", None)
    except PySparkException:
        return None


def binlake_version() -> str:
    """Of the package that runs; `unknown` where it runs without being installed."""
    try:
        return metadata.version("binlake")
    except metadata.PackageNotFoundError:
        return "unknown"
