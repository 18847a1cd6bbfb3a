"""The record of a run: a row of `ledger/runs`."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from datetime import date, datetime, timedelta, timezone
from typing import Any, Literal

import pyarrow as pa

Outcome = Literal["done", "nothing_new", "faults", "failed", "interrupted"]

_EPOCH = datetime(1970, 1, 1, tzinfo=timezone.utc)
_INSTANT = pa.timestamp("us", "UTC")
_BY_NAME = pa.map_(pa.string(), pa.int64())
_SENTENCES = pa.list_(
    pa.struct([pa.field("layer", pa.string()), pa.field("sentence", pa.string())])
)
_REPORTED = pa.list_(
    pa.struct([pa.field(name, pa.string()) for name in ("layer", "kind", "subject")])
)
_BATCHES = pa.list_(
    pa.struct(
        [
            pa.field("layer", pa.string()),
            pa.field("batch", pa.int64()),
            # the run that planned the batch, if another: it was killed before it finished
            pa.field("planned_by", pa.string()),
        ]
    )
)

RUNS = pa.schema(
    [
        # also in the run's rows of ledger/batches and in its log lines
        pa.field("run_id", pa.string()),
        pa.field("source", pa.string()),
        # run | ingest | decode | apply | retry | maintain | seed | verify | capture
        pa.field("command", pa.string()),
        pa.field("layers", pa.list_(pa.string())),
        # the day of started_at in UTC: the partition column
        pa.field("day", pa.date32()),
        pa.field("started_at", _INSTANT),
        # in microseconds since 1970: the table's log has it for each record
        pa.field("started_micros", pa.int64()),
        pa.field("finished_at", _INSTANT),
        pa.field("seconds", pa.float64()),
        # of each layer that completed
        pa.field("layer_seconds", pa.map_(pa.string(), pa.float64())),
        # done | nothing_new | faults (or a gap) | failed | interrupted
        pa.field("outcome", pa.string()),
        pa.field("exit_code", pa.int32()),
        # of a failed run: message, class of the error, and whether a retry may help
        pa.field("error", pa.string()),
        pa.field("error_type", pa.string()),
        pa.field("retryable", pa.bool_()),
        pa.field("batches", _BATCHES),
        # bronze: new files and bytes, and the events in them
        pa.field("files", pa.int64()),
        pa.field("bytes", pa.int64()),
        pa.field("segments", pa.int64()),
        pa.field("events", pa.int64()),
        pa.field("events_by_type", _BY_NAME),
        # the file in the input that was written last, and when
        pa.field("newest_file", pa.string()),
        pa.field("newest_file_at", _INSTANT),
        # silver
        pa.field("transactions", pa.int64()),
        pa.field("seen_before", pa.int64()),
        pa.field("rows_decoded", pa.int64()),
        pa.field("rows_decoded_by_table", _BY_NAME),
        # gold
        pa.field("rows_applied", pa.int64()),
        pa.field("rows_applied_by_table", _BY_NAME),
        # the snapshot that it published; null if it published none
        pa.field("cut_lsn", pa.int64()),
        pa.field("cut_committed_at", _INSTANT),
        pa.field("published_at", _INSTANT),
        # published_at - cut_committed_at
        pa.field("lag_seconds", pa.float64()),
        # the number of all, and the first sentences
        pa.field("fault_count", pa.int64()),
        pa.field("faults", _SENTENCES),
        pa.field("gap_count", pa.int64()),
        pa.field("gaps", _SENTENCES),
        pa.field("note_count", pa.int64()),
        pa.field("notes", _SENTENCES),
        # the open problems of its layers that the webhook knows; null without a webhook
        pa.field("notified", _REPORTED),
        pa.field("binlake_version", pa.string()),
        # null, like spark_application, if the run did not use Spark
        pa.field("spark_version", pa.string()),
        # Spark's application id, to find its logs
        pa.field("spark_application", pa.string()),
        pa.field("host", pa.string()),
    ]
)

_FIGURES = (
    *("command", "outcome", "exit_code", "error", "error_type", "retryable", "seconds"),
    *("files", "bytes", "segments", "events", "transactions", "seen_before"),
    *("rows_decoded", "rows_applied", "fault_count", "gap_count", "note_count"),
    *("cut_lsn", "cut_committed_at", "published_at", "lag_seconds"),
    *("newest_file", "newest_file_at"),
)


@dataclass(frozen=True, slots=True)
class Sentence:
    """A fault, gap or note, and the layer that reported it."""

    layer: str
    sentence: str


@dataclass(frozen=True, slots=True)
class ReportedProblem:
    """A problem that the webhook knows: `kind` is failed, held, gap or fault, `subject` the table,
    the class of the error, or the sentence."""

    layer: str
    kind: str
    subject: str


@dataclass(frozen=True, slots=True)
class RecordedBatch:
    """A batch that the run finished; `planned_by`: the run that planned it, if it was another."""

    layer: str
    batch: int
    planned_by: str | None = None


@dataclass(frozen=True, slots=True)
class RunRecord:
    """The record of a run that has ended; the columns are documented in `RUNS`."""

    run_id: str
    source: str
    command: str
    layers: tuple[str, ...]
    started_at: datetime
    finished_at: datetime
    outcome: Outcome
    exit_code: int
    layer_seconds: Mapping[str, float] = field(default_factory=dict)
    error: str | None = None
    error_type: str | None = None
    retryable: bool | None = None
    batches: tuple[RecordedBatch, ...] = ()
    files: int = 0
    bytes: int = 0
    segments: int = 0
    events_by_type: Mapping[str, int] = field(default_factory=dict)
    newest_file: str | None = None
    newest_file_at: datetime | None = None
    transactions: int = 0
    seen_before: int = 0
    rows_decoded_by_table: Mapping[str, int] = field(default_factory=dict)
    rows_applied_by_table: Mapping[str, int] = field(default_factory=dict)
    cut_lsn: int | None = None
    cut_committed_at: datetime | None = None
    published_at: datetime | None = None
    fault_count: int = 0
    faults: tuple[Sentence, ...] = ()
    gap_count: int = 0
    gaps: tuple[Sentence, ...] = ()
    note_count: int = 0
    notes: tuple[Sentence, ...] = ()
    notified: tuple[ReportedProblem, ...] | None = None
    binlake_version: str = ""
    spark_version: str | None = None
    spark_application: str | None = None
    host: str = ""

    @property
    def day(self) -> date:
        """The day it started, in UTC."""
        return self.started_at.astimezone(timezone.utc).date()

    @property
    def started_micros(self) -> int:
        """Start time, in microseconds since 1970."""
        return (self.started_at - _EPOCH) // timedelta(microseconds=1)

    @property
    def seconds(self) -> float:
        """Seconds from start to end."""
        return (self.finished_at - self.started_at).total_seconds()

    @property
    def events(self) -> int:
        """Events of all types."""
        return sum(self.events_by_type.values())

    @property
    def rows_decoded(self) -> int:
        """Rows decoded, of all tables."""
        return sum(self.rows_decoded_by_table.values())

    @property
    def rows_applied(self) -> int:
        """Rows applied, of all tables."""
        return sum(self.rows_applied_by_table.values())

    @property
    def lag_seconds(self) -> float | None:
        """Seconds from the last commit on the source to the snapshot's publication, by the clocks
        of both machines."""
        if self.published_at is None or self.cut_committed_at is None:
            return None
        return (self.published_at - self.cut_committed_at).total_seconds()

    def to_row(self) -> dict[str, Any]:
        """Return the values of the columns of `RUNS`, in its order."""
        own = asdict(self)
        return {name: own[name] if name in own else getattr(self, name) for name in RUNS.names}

    def to_json(self) -> str:
        """Return one line of JSON, with times in ISO 8601."""
        return json.dumps(self.to_row(), default=lambda time: time.isoformat(), ensure_ascii=False)

    def figures(self) -> dict[str, Any]:
        """Return the scalar values that summarize the run, for a log line."""
        row = self.to_row()
        return {name: row[name] for name in _FIGURES}
