"""A run: the layers' jobs one after the other, in data order, and the record of it.

Each layer finishes its own open plan first, so a run that was killed is continued by running again.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from contextlib import nullcontext
from types import MappingProxyType

from pipeline.bronze import job as bronze, read_files
from pipeline.errors import DONE, DONE_WITH_FAULTS, SettingsError
from pipeline.gold import job as gold
from pipeline.gold.plan.rebuild import follows_silver
from pipeline.gold.plan.until import require_in_log
from pipeline.lake import Ledger
from pipeline.lake.ledger.run_record import RunRecord
from pipeline.lake.locks.lease import only_writer
from pipeline.lake.locks.lease_guard import require_held
from pipeline.lake.starting import Spark
from pipeline.maintenance import job as maintenance
from pipeline.observe import LayerReport, Progress, redact
from pipeline.observe.current_run import begin
from pipeline.observe.interruption import record_by, unwound
from pipeline.run.failure import failure_said
from pipeline.run.recorder import Recorder
from pipeline.seed import job as seed
from pipeline.settings import Settings
from pipeline.silver import job as silver
from pipeline.silver.full_refresh import require_refreshable
from pipeline.silver.plan.progress import silver_to_be
from pipeline.silver.plan.refresh import asked
from pipeline.spark.spark_submit import use_stores

Job = Callable[[Spark, Settings, Progress], LayerReport]

LAYERS: Mapping[str, Job] = MappingProxyType(
    {"bronze": bronze.run, "silver": silver.run, "gold": gold.run}
)
"""A layer's name to its job, in data order."""


def _ingest_first(spark: Spark, settings: Settings, progress: Progress) -> LayerReport:
    """Bronze's job, unless what follows it would be refused: then nothing is touched."""
    ledger = Ledger(spark, settings.layout, settings.source)
    if not _goes_on(ledger, settings):
        require_refreshable(spark, settings, ledger)
    return bronze.run(spark, settings, progress)


def _decode_anew(spark: Spark, settings: Settings, progress: Progress) -> LayerReport:
    """Silver's full refresh, unless gold is still to be built from the last one."""
    ledger = Ledger(spark, settings.layout, settings.source)
    if _goes_on(ledger, settings):
        return silver.run(spark, settings, progress)
    return _refresh_silver(spark, settings, progress)


def _refresh_silver(spark: Spark, settings: Settings, progress: Progress) -> LayerReport:
    """Silver's, unless gold could not stop where it is to: it would find that behind it all."""
    require_in_log(read_files(spark, settings.layout, settings.source), settings)
    return silver.refresh(spark, settings, progress)


def _goes_on(ledger: Ledger, settings: Settings) -> bool:
    same = silver_to_be(ledger).refresh.asked == asked(settings)
    return same and follows_silver(ledger)


COMMANDS: Mapping[str, Mapping[str, Job]] = MappingProxyType(
    {
        "run": LAYERS,
        "ingest": {"bronze": bronze.run},
        "decode": {"silver": silver.run},
        "apply": {"gold": gold.run},
        "retry": {"silver": silver.retry, "gold": gold.retry},
        "maintain": {"maintenance": maintenance.run},
        "seed": {seed.LAYER: seed.run},
        "run --full-refresh": {
            "bronze": _ingest_first,
            "silver": _decode_anew,
            "gold": gold.refresh,
        },
        "decode --full-refresh": {"silver": _refresh_silver},
        "apply --full-refresh": {"gold": gold.refresh},
    }
)
"""What each command is made of, in data order. A full refresh of `run` is under way until gold has
published its cut."""

BESIDE = ("seed",)
"""Commands that write no table: they keep nobody from the lake, and nobody them."""


def run_command(
    spark: Spark, settings: Settings, progress: Progress, command: str
) -> list[LayerReport]:
    """Do what `binlake COMMAND` does, and leave a record of it; one report for each layer.

    Raises as `recorded_run` does.
    """
    return recorded_run(spark, settings, progress, command)[0]


def recorded_run(
    spark: Spark, settings: Settings, progress: Progress, command: str
) -> tuple[list[LayerReport], RunRecord | None]:
    """Do what `binlake COMMAND` does, and leave a record of it, whatever becomes of it.

    Returns one report for each layer, and the record, None if it could not be made. Raises
    BinlakeError for what stops a run, after it is recorded; a run that is killed leaves no record,
    and its batches are in that of the next one, which finishes them. A run that another one keeps
    out, or takes the lake from, is reported in the log alone: it may not write there.
    """
    redact.learn(settings.secrets)
    use_stores(settings.spark.conf)
    jobs = COMMANDS[command]
    reports: list[LayerReport] = []
    beside = command in BESIDE
    with (
        begin(settings.source) as run,
        failure_said(command) as failure,
        nullcontext() if beside else only_writer(settings.lake, settings.spark.conf),
    ):
        recorder = Recorder(spark, settings, command, tuple(jobs), run, failure)
        record_by(None if beside else recorder.failed)
        try:
            for layer, job in jobs.items():
                recorder.layer_began(layer)
                reports.append(job(spark, settings, progress))
                recorder.layer_done(reports[-1])
            # Else a run that has lost its lake would be told as done.
            if not beside:
                require_held(f"{settings.lake.rstrip('/')}/ledger/runs")
        except (Exception, KeyboardInterrupt) as error:
            unwound(waits=not beside)
            recorder.failed(error)
            raise
        record_by(None)
        return reports, recorder.done(exit_code(reports))


def run_layers(
    spark: Spark,
    settings: Settings,
    progress: Progress,
    layers: Sequence[str] = tuple(LAYERS),
) -> list[LayerReport]:
    """Run `layers` in data order, for tests and benchmarks: without a record, and without keeping
    other runs from the lake; one report each.

    Raises BinlakeError for what stops a run.
    """
    return [job(spark, settings, progress) for name, job in LAYERS.items() if name in layers]


def require_source(spark: Spark, settings: Settings) -> None:
    """Raise SettingsError if nothing was ever ingested for this source: its name may be wrong."""
    known = Ledger(spark, settings.layout, "").sources()
    if settings.source not in known:
        raise SettingsError(
            f"{settings.source} is no source of the lake {settings.lake}.",
            key="source",
            remedy=f"It has: {', '.join(known)}." if known else "Ingest its binlogs first.",
        )


def retry_faults(spark: Spark, settings: Settings, progress: Progress) -> list[LayerReport]:
    """Decode again what faults hold, then apply what that gives and what it held back; for tests,
    like `run_layers`."""
    return [silver.retry(spark, settings, progress), gold.retry(spark, settings, progress)]


def exit_code(reports: Sequence[LayerReport]) -> int:
    """0, or 3 if any layer met a fault or a gap."""
    return DONE if all(report.clean for report in reports) else DONE_WITH_FAULTS
