"""Prometheus's metrics of a source, in a file for node_exporter's textfile collector.

All values come from the lake and from this run's record, so that the file is the same whichever
command writes it: a failed run keeps the time of the last publication, and `binlake ingest` keeps
what `binlake apply` reported of gold.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from datetime import datetime
from types import MappingProxyType
from typing import Any

from pipeline.errors import MissingRequirementError
from pipeline.gold import GoldState
from pipeline.lake.ledger.run_record import RunRecord
from pipeline.lake.ledger.run_store import CAPTURE
from pipeline.observe import redact
from pipeline.run.monitoring.source_state import SourceState
from pipeline.settings import Settings

METRICS: Mapping[str, str] = MappingProxyType(
    {
        "binlake_published_commit_timestamp_seconds": "Time of the last commit in the published"
        " snapshot, by the source's clock.",
        "binlake_published_timestamp_seconds": "When that commit was published.",
        "binlake_lag_seconds": "From that commit to its publication.",
        "binlake_newest_file_timestamp_seconds": "When the newest binlog file was written.",
        "binlake_last_run_timestamp_seconds": "When the last run ended, however it ended.",
        "binlake_last_run_exit_code": "Exit code of the last run.",
        "binlake_capture_failing": "1 if a sync's capture failed, or landed nothing for a minute"
        " because of errors, and has not worked since, else 0; absent if none ever failed.",
        "binlake_layer_timestamp_seconds": "When a run last completed the layer.",
        "binlake_layer_seconds": "Seconds that the layer took in that run.",
        "binlake_layer_faults": "Faults that the layer reported in that run, 200 at most.",
        "binlake_layer_gaps": "Gaps that the layer reported in that run, 200 at most.",
        "binlake_ingested_bytes": "New bytes in the last run that completed bronze.",
        "binlake_decoded_rows": "Changed rows in the last run that completed silver.",
        "binlake_applied_rows": "Changes applied in the last run that completed gold.",
        "binlake_tables": "Tables in gold that still exist on the source.",
        "binlake_held_tables": "Tables that are held.",
        "binlake_incomplete_tables": "Tables that lack rows of the source.",
        "binlake_table_decoded_rows": "The table's part of binlake_decoded_rows.",
        "binlake_table_applied_rows": "The table's part of binlake_applied_rows.",
        "binlake_table_held": "1 if the table is held, else 0.",
        "binlake_table_complete": "1 if the table has all rows of the source table, else 0.",
    }
)
"""All metrics, gauges, each with its HELP."""

NO_LABELS: Mapping[str, str] = MappingProxyType({})
LAYERS = ("bronze", "silver", "gold", "maintenance", "seed")
_INSTALL = "Run: pip install 'binlake[metrics]', or pip install '.[metrics]' in a clone."


@dataclass(frozen=True, slots=True)
class Sample:
    """A value of a metric."""

    name: str
    value: float
    labels: Mapping[str, str] = field(default_factory=dict)


def write_textfile(settings: Settings, state: SourceState, record: RunRecord) -> None:
    """Write the metrics of the source after the run to `metrics.textfile`, atomically.

    Raises MissingRequirementError if prometheus-client is not installed or the file cannot be
    written.
    """
    file = settings.metrics.textfile
    if file is None:
        return
    try:
        from prometheus_client import CollectorRegistry, write_to_textfile
    except ModuleNotFoundError as error:
        reason = f"metrics.textfile needs a package that is not installed ({error.name})."
        raise MissingRequirementError(reason, remedy=_INSTALL) from error
    everything = replace(state, runs=(*state.runs, record))
    registry = CollectorRegistry()
    registry.register(_Collector(samples(everything, tables=settings.metrics.tables), settings))
    try:
        write_to_textfile(file, registry)
    except OSError as error:
        reason = f"{file} cannot be written: {error.strerror}. Until it is, metrics are old."
        remedy = "Let this user write to its folder, or set metrics.textfile to another file."
        raise MissingRequirementError(reason, remedy=remedy) from error


class _Collector:
    """Samples as Prometheus's client collects them, each with the labels `source` and `lake`."""

    def __init__(self, found: Iterable[Sample], settings: Settings) -> None:
        self._samples = list(found)
        self._labels = {"source": settings.source, "lake": redact(settings.lake)}

    def collect(self) -> Iterator[Any]:
        """Yield a family for each metric that has samples."""
        from prometheus_client.core import GaugeMetricFamily

        for name, meaning in METRICS.items():
            own = [sample for sample in self._samples if sample.name == name]
            if own:
                family = GaugeMetricFamily(name, meaning, labels=[*self._labels, *own[0].labels])
                for sample in own:
                    labels = {**self._labels, **sample.labels}
                    family.add_metric(list(labels.values()), sample.value)
                yield family


def samples(state: SourceState, *, tables: bool) -> Iterator[Sample]:
    """Yield all samples of a source, `runs` being all its last runs; `tables`: also those of each
    table."""
    yield from _published(state)
    yield from _last_run(state.runs)
    for layer in LAYERS:
        if (run := state.completed(layer)) is not None:
            yield from _of_layer(layer, run)
    yield from _of_tables(state.gold)
    if tables:
        yield from _of_each_table(state)


def _published(state: SourceState) -> Iterator[Sample]:
    committed, published = state.committed_at, state.published_at
    yield from _time("binlake_published_commit_timestamp_seconds", committed)
    yield from _time("binlake_published_timestamp_seconds", published)
    if committed is not None and published is not None:
        yield Sample("binlake_lag_seconds", (published - committed).total_seconds())


def _last_run(runs: Iterable[RunRecord]) -> Iterator[Sample]:
    """Yield the metrics of the last run, and of the last capture besides it."""
    by_end = sorted(runs, key=lambda run: run.finished_at)
    captures = [run for run in by_end if run.command == CAPTURE]
    others = [run for run in by_end if run.command != CAPTURE]
    if captures:
        yield Sample("binlake_capture_failing", captures[-1].outcome == "failed")
    if others:
        yield from _time("binlake_last_run_timestamp_seconds", others[-1].finished_at)
        yield Sample("binlake_last_run_exit_code", others[-1].exit_code)


def _of_layer(layer: str, run: RunRecord) -> Iterator[Sample]:
    labels = {"layer": layer}
    faults = sum(fault.layer == layer for fault in run.faults)
    gaps = sum(gap.layer == layer for gap in run.gaps)
    yield from _time("binlake_layer_timestamp_seconds", run.finished_at, labels)
    yield Sample("binlake_layer_seconds", run.layer_seconds[layer], labels)
    yield Sample("binlake_layer_faults", faults, labels)
    yield Sample("binlake_layer_gaps", gaps, labels)
    if layer == "bronze":
        yield from _time("binlake_newest_file_timestamp_seconds", run.newest_file_at)
        yield Sample("binlake_ingested_bytes", run.bytes)
    elif layer == "silver":
        yield Sample("binlake_decoded_rows", run.rows_decoded)
    elif layer == "gold":
        yield Sample("binlake_applied_rows", run.rows_applied)


def _of_tables(gold: GoldState) -> Iterator[Sample]:
    tables = [table for table in gold.tables.values() if not table.dropped]
    # While a full refresh rebuilds them, the published snapshot is still the previous one.
    incomplete = 0 if gold.rebuild.under_way else sum(not table.complete for table in tables)
    yield Sample("binlake_tables", len(tables))
    yield Sample("binlake_held_tables", sum(gold.holds(table) is not None for table in tables))
    yield Sample("binlake_incomplete_tables", incomplete)


def _of_each_table(state: SourceState) -> Iterator[Sample]:
    for table in state.gold.tables.values():
        if not table.dropped:
            labels = {"table": str(table.name)}
            yield Sample("binlake_table_held", state.gold.holds(table) is not None, labels)
            yield Sample("binlake_table_complete", table.complete, labels)
    decoded, applied = state.completed("silver"), state.completed("gold")
    for name, rows in (decoded.rows_decoded_by_table if decoded else {}).items():
        yield Sample("binlake_table_decoded_rows", rows, {"table": name})
    for name, rows in (applied.rows_applied_by_table if applied else {}).items():
        yield Sample("binlake_table_applied_rows", rows, {"table": name})


def _time(
    name: str, at: datetime | None, labels: Mapping[str, str] = NO_LABELS
) -> Iterator[Sample]:
    if at is not None:
        yield Sample(name, at.timestamp(), labels)
