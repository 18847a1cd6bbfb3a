"""The layers one after the other, as a run has them, without its record and its lease."""

from __future__ import annotations

from collections.abc import Sequence

from pipeline.lake.lazy_spark import Spark
from pipeline.observe import LayerReport, Progress
from pipeline.run.commands import LAYERS
from pipeline.settings import Settings


def run_layers(
    spark: Spark, settings: Settings, progress: Progress, layers: Sequence[str] = tuple(LAYERS)
) -> list[LayerReport]:
    """Run `layers` in data order; return a report per layer. Raises BinlakeError if one fails."""
    return [job(spark, settings, progress) for name, job in LAYERS.items() if name in layers]
