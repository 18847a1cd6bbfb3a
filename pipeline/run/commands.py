"""Runs: the jobs of a command's layers in data order, and the record of the run.

Each layer finishes its own open plan first, so a killed run is resumed by running again.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from contextlib import nullcontext
from types import MappingProxyType

from pipeline.bronze import job as bronze, read_files
from pipeline.errors import DONE, DONE_WITH_FAULTS, NothingReplicatedError
from pipeline.gold import job as gold
from pipeline.gold.plan.rebuild import awaits_rebuild
from pipeline.gold.plan.until import require_in_log
from pipeline.lake import Ledger
from pipeline.lake.lazy_spark import Spark
from pipeline.lake.ledger.run_record import RunRecord
from pipeline.lake.locks.lease import only_writer, require_held
from pipeline.layer import LayerRun
from pipeline.maintenance import job as maintenance
from pipeline.observe import LayerReport, Progress
from pipeline.observe.current_run import UnderWay, begin
from pipeline.observe.interruption import record_by, unwound
from pipeline.run.recorder import Recorder, failure_logged
from pipeline.seed import job as seed
from pipeline.settings import Settings
from pipeline.silver import job as silver
from pipeline.silver.full_refresh import require_refreshable, settings_digest
from pipeline.silver.plan.progress import silver_progress_ahead
from pipeline.spark.spark_submit import apply_to_process

Job = Callable[[Spark, Settings, Progress], LayerReport]
MakeRecorder = Callable[[Spark, Settings, str, Sequence[str], UnderWay], Recorder]

LAYERS: Mapping[str, Job] = MappingProxyType(
    {"bronze": bronze.run, "silver": silver.run, "gold": gold.run}
)
"""The layers' jobs by name, in data order."""


def _ingest_first(spark: Spark, settings: Settings, progress: Progress) -> LayerReport:
    """Run bronze, unless silver's full refresh would be refused: then nothing is changed."""
    layer = LayerRun.begin(spark, settings, progress)
    if not _is_under_way(layer):
        require_refreshable(layer)
    return bronze.run(spark, settings, progress)


def _refresh_or_resume(spark: Spark, settings: Settings, progress: Progress) -> LayerReport:
    """Refresh silver, unless gold is still to be rebuilt from the last full refresh."""
    if _is_under_way(LayerRun.begin(spark, settings, progress)):
        return silver.run(spark, settings, progress)
    return _refresh_silver(spark, settings, progress)


def _refresh_silver(spark: Spark, settings: Settings, progress: Progress) -> LayerReport:
    """Refresh silver, unless gold cannot stop at `until`, which would fail after silver's work."""
    require_in_log(read_files(spark, settings.layout, settings.source), settings)
    return silver.refresh(spark, settings, progress)


def _is_under_way(run: LayerRun) -> bool:
    refresh = silver_progress_ahead(run.ledger).refresh
    same = refresh.settings_digest == settings_digest(run.settings)
    return same and awaits_rebuild(run.ledger)


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
            "silver": _refresh_or_resume,
            "gold": gold.refresh,
        },
        "decode --full-refresh": {"silver": _refresh_silver},
        "apply --full-refresh": {"gold": gold.refresh},
    }
)
"""The jobs of each command by layer, in data order. A full refresh by `run` is under way until gold
has published its snapshot."""

BESIDE = ("seed",)
"""Commands that write no table, and so run beside others without a lease on the lake."""


def run_command(
    spark: Spark, settings: Settings, progress: Progress, command: str
) -> list[LayerReport]:
    """Run `binlake COMMAND` and record it; return a report per layer.

    Raises as `recorded_run` does.
    """
    return recorded_run(spark, settings, progress, command)[0]


def recorded_run(
    spark: Spark,
    settings: Settings,
    progress: Progress,
    command: str,
    make_recorder: MakeRecorder | None = None,
) -> tuple[list[LayerReport], RunRecord | None]:
    """Run `binlake COMMAND` and record it, whether it succeeds or fails; by another recorder if
    `make_recorder` makes one.

    Returns a report per layer, and the record, or None if it could not be made. Raises BinlakeError
    if the run fails, after it is recorded. A killed run leaves no record; its batches are in the
    record of the next run, which finishes them. A run that is refused because of a concurrent run,
    or that lost the lease, is reported in the log only: it may not write to the lake.
    """
    apply_to_process(settings)
    jobs = COMMANDS[command]
    reports: list[LayerReport] = []
    beside = command in BESIDE
    with (
        begin(settings.source) as run,
        failure_logged(command, run),
        nullcontext() if beside else only_writer(settings.lake, settings.spark.conf),
    ):
        recorder = (make_recorder or Recorder)(spark, settings, command, tuple(jobs), run)
        recorder.run_began()
        record_by(None if beside else recorder.failed)
        try:
            for layer, job in jobs.items():
                recorder.layer_began(layer)
                reports.append(job(spark, settings, progress))
                recorder.layer_done(reports[-1])
            # A run that lost the lease must not be recorded as done.
            if not beside:
                require_held(f"{settings.lake.rstrip('/')}/ledger/runs")
        except (Exception, KeyboardInterrupt) as error:
            unwound(waits=not beside)
            recorder.failed(error)
            raise
        record_by(None)
        return reports, recorder.done(exit_code(reports))


def require_source(spark: Spark, settings: Settings) -> None:
    """Raise NothingReplicatedError if the lake has no source of this name."""
    known = Ledger(spark, settings.layout, "").sources()
    if settings.source not in known:
        raise NothingReplicatedError(
            f"lake {settings.lake} has no source named {settings.source}.",
            key="source",
            remedy=f"Its sources: {', '.join(known)}." if known else "Run binlake run first.",
        )


def exit_code(reports: Sequence[LayerReport]) -> int:
    """Return 0, or 3 if any layer reports a fault or a gap."""
    return DONE if all(report.clean for report in reports) else DONE_WITH_FAULTS
