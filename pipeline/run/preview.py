"""`--dry-run`: what a run would read, decode and apply. Nothing is committed, recorded or leased.

Each layer's preview is based on what the previous layer has now. Data that the run would first
ingest or decode is unknown to later layers until it is decoded, and is never estimated.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass
from types import MappingProxyType
from typing import TypeVar

from pipeline.bronze import preview as bronze
from pipeline.bronze.preview import BronzePreview
from pipeline.gold import preview as gold
from pipeline.gold.preview import GoldPreview
from pipeline.lake.lazy_spark import Spark
from pipeline.layer import LayerRun
from pipeline.observe import Progress, redact
from pipeline.settings import Settings
from pipeline.silver import preview as silver
from pipeline.silver.plan.progress import require_same_types
from pipeline.silver.preview import SilverPreview

L = TypeVar("L")

LAYERS: Mapping[str, tuple[str, ...]] = MappingProxyType(
    {
        "run": ("bronze", "silver", "gold"),
        "ingest": ("bronze",),
        "decode": ("silver",),
        "apply": ("gold",),
    }
)
"""The layers of each command that has a dry run."""


@dataclass(frozen=True, slots=True)
class RunPreview:
    """The output of `binlake run --dry-run`; None for a layer that the command does not run."""

    lake: str
    source: str
    bronze: BronzePreview | None
    silver: SilverPreview | None
    gold: GoldPreview | None

    @property
    def undecoded(self) -> bool:
        """True if the run would decode changes whose tables and rows are unknown until then."""
        ingests = self.bronze is not None and bool(self.bronze.files)
        return ingests or (self.silver is not None and self.silver.segments > 0)

    def to_json(self) -> str:
        """Return a JSON object; what is unknown is null."""
        document = {**asdict(self), "undecoded": self.undecoded}
        return json.dumps(redact.value(document), ensure_ascii=False)


def preview(spark: Spark, settings: Settings, progress: Progress, command: str) -> RunPreview:
    """Return what `binlake COMMAND` would do; writes nothing.

    Raises SettingsError as the command would before it starts, SeedUnreadableError.
    """
    run = LayerRun.begin(spark, settings, progress)
    layers = LAYERS[command]
    require_same_types(run.ledger, settings)

    def of(layer: str, look: Callable[[LayerRun], L]) -> L | None:
        if layer not in layers:
            return None
        with progress.task(f"previewing {layer}"):
            return look(run)

    return RunPreview(
        settings.lake,
        settings.source,
        of("bronze", bronze.preview),
        of("silver", silver.preview),
        of("gold", gold.preview),
    )
