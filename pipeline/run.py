"""A run: the layers' jobs one after the other, in data order.

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
from pipeline.settings import Settings
from pipeline.silver import job as silver

Job = Callable[[SparkSession, Settings, Progress], LayerReport]

LAYERS: Mapping[str, Job] = MappingProxyType(
    {"bronze": bronze.run, "silver": silver.run, "gold": gold.run}
)
"""A layer's name to its job, in data order."""

DONE = 0
DONE_WITH_FAULTS = 3


def run_layers(
    spark: SparkSession,
    settings: Settings,
    progress: Progress,
    layers: Sequence[str] = tuple(LAYERS),
) -> list[LayerReport]:
    """Run `layers` in data order; one report each. Raises BinlakeError for what stops a run."""
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
