"""Maintenance's job: apply retention, compact and vacuum the lake's tables.

spark-submit pipeline/maintenance/job.py --source NAME --lake DIR [--conf FILE] [--dry-run]
"""

from __future__ import annotations

import time
from datetime import datetime, timezone
from functools import partial

from pipeline.errors import SettingsError
from pipeline.lake import Ledger
from pipeline.lake.lazy_spark import Spark
from pipeline.lake.ledger.ledger_table import Layer
from pipeline.layer import Batches, LayerRun
from pipeline.maintenance.batch import execute
from pipeline.maintenance.needs import plan_next
from pipeline.maintenance.preview import preview
from pipeline.observe import LayerReport, Progress
from pipeline.settings import Settings

LAYER: Layer = "maintenance"


def run(
    spark: Spark,
    settings: Settings,
    progress: Progress,
    *,
    dry_run: bool = False,
    shared: bool = True,
) -> LayerReport:
    """Finish the open batch, if any, then carry out the maintenance due for one source.

    Like a layer's job it neither records the run nor takes the lake's lease: `run_command` does
    both. `dry_run`: only report due work, in notes. `shared`: also maintain the tables that
    sources share.
    """
    began = time.monotonic()
    now = datetime.now(timezone.utc)
    layer = LayerRun.begin(spark, settings, progress)
    if dry_run:
        plan = layer.ledger.open(LAYER)
        return LayerReport(
            layer=LAYER,
            batches=(plan.batch,) if plan else (),
            notes=tuple(preview(layer, plan, now, shared=shared)),
            seconds=time.monotonic() - began,
        )
    batches = Batches(LAYER, layer, partial(execute, now=now, shared=shared))
    batches.finish_open(partial(execute, now=now, shared=False))
    done = batches.propose(plan_next(layer, now).to_body())
    return batches.report(notes=done.limits)


def of_source(spark: Spark, settings: Settings) -> Settings:
    """Return the settings with the source to maintain: the one they name, or the lake's only one.

    Raises SettingsError if the lake has several, since each has settings of its own.
    """
    if "source" in settings.model_fields_set:
        return settings
    known = Ledger(spark, settings.layout, "").sources()
    if len(known) > 1:
        raise SettingsError(
            f"is not set, and the lake has several sources: {', '.join(known)}.",
            key="source",
            remedy="Run maintain for each with its own --source and --conf.",
        )
    return settings.model_copy(update={"source": known[0]}) if known else settings


if __name__ == "__main__":
    from pipeline.cli import main

    main("maintain")
