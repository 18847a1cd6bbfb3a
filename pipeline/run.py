"""A run: the layers' jobs one after the other, in data order, and the record of it.

Each layer finishes its own open plan first, so a run that was killed is continued by running again.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from types import MappingProxyType

from pyspark.sql import SparkSession

from pipeline.bronze import job as bronze
from pipeline.errors import SettingsError
from pipeline.gold import job as gold
from pipeline.ledger import Ledger
from pipeline.progress import Progress
from pipeline.report import LayerReport
from pipeline.runs.recorder import Recorder
from pipeline.settings import Settings
from pipeline.silver import job as silver
from pipeline.under_way import begin

Job = Callable[[SparkSession, Settings, Progress], LayerReport]

LAYERS: Mapping[str, Job] = MappingProxyType(
    {"bronze": bronze.run, "silver": silver.run, "gold": gold.run}
)
"""A layer's name to its job, in data order."""

COMMANDS: Mapping[str, Mapping[str, Job]] = MappingProxyType(
    {
        "run": LAYERS,
        "ingest": {"bronze": bronze.run},
        "decode": {"silver": silver.run},
        "apply": {"gold": gold.run},
        "retry": {"silver": silver.retry, "gold": gold.retry},
    }
)
"""What each command is made of, in data order."""

DONE = 0
DONE_WITH_FAULTS = 3


def _by_all() -> None:
    """Where nothing has to be held for a run."""


def run_command(
    spark: SparkSession,
    settings: Settings,
    progress: Progress,
    command: str,
    *,
    held: Callable[[], None] = _by_all,
) -> list[LayerReport]:
    """Do what `binlake COMMAND` does, and leave a record of it, whatever becomes of it.

    One report for each layer. Raises BinlakeError for what stops a run, after it is recorded; a run
    that is killed leaves no record, and its batches are in that of the next one, which finishes
    them. `held` raises if the lake is not this run's any more (see `pipeline.lease`).
    """
    jobs = COMMANDS[command]
    reports: list[LayerReport] = []
    with begin(settings.source) as run:
        recorder = Recorder(spark, settings, command, tuple(jobs), run)
        try:
            for layer, job in jobs.items():
                recorder.layer_began(layer)
                reports.append(job(spark, settings, progress))
                recorder.layer_done(reports[-1])
            held()
        except (Exception, KeyboardInterrupt) as error:
            recorder.failed(error)
            raise
        recorder.done(exit_code(reports))
    return reports


def run_layers(
    spark: SparkSession,
    settings: Settings,
    progress: Progress,
    layers: Sequence[str] = tuple(LAYERS),
) -> list[LayerReport]:
    """Run `layers` in data order, without a record; one report each.

    Raises BinlakeError for what stops a run.
    """
    return [job(spark, settings, progress) for name, job in LAYERS.items() if name in layers]


def require_source(spark: SparkSession, settings: Settings) -> None:
    """Raise SettingsError if nothing was ever ingested for this source: its name may be wrong."""
    history = Ledger(spark, settings.layout, "").history()
    known = sorted({entry.source for entry in history})
    if settings.source not in known:
        raise SettingsError(
            f"{settings.source} is no source of the lake {settings.lake}.",
            key="source",
            remedy=f"It has: {', '.join(known)}." if known else "Ingest its binlogs first.",
        )


def retry_faults(spark: SparkSession, settings: Settings, progress: Progress) -> list[LayerReport]:
    """Decode again what faults hold, then apply what that gives and what it held back."""
    return [silver.retry(spark, settings, progress), gold.retry(spark, settings, progress)]


def exit_code(reports: Sequence[LayerReport]) -> int:
    """0, or 3 if any layer met a fault or a gap."""
    return DONE if all(report.clean for report in reports) else DONE_WITH_FAULTS
