"""State of a source in the lake at the end of a run: its published snapshot, tables and last runs.

Metrics and notifications are made from it, not from the run alone, which may have failed, found
nothing new, or run only one layer.
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime

from pipeline.gold import GoldState
from pipeline.lake import Ledger
from pipeline.lake.lazy_spark import Spark
from pipeline.lake.ledger.run_record import RunRecord
from pipeline.lake.ledger.run_store import last_runs_by_outcome
from pipeline.run.totals import cut_of
from pipeline.settings import Settings


@dataclass(frozen=True, slots=True)
class SourceState:
    """A source's published snapshot, tables and last runs.

    `committed_at`, `published_at`: the last commit in the snapshot, and its publication; both are
    None until something is published. `gold`: the state of its tables. `runs`: the last of each
    command and outcome, before the current run.
    """

    committed_at: datetime | None
    published_at: datetime | None
    gold: GoldState
    runs: tuple[RunRecord, ...]

    def completed(self, layer: str) -> RunRecord | None:
        """Return the last of the runs in which a layer ended normally."""
        runs = (run for run in self.runs if layer in run.layer_seconds)
        return max(runs, key=lambda run: run.started_at, default=None)


def read_source_state(spark: Spark, settings: Settings) -> SourceState:
    """Read the state from the ledger."""
    ledger = Ledger(spark, settings.layout, settings.source)
    cut = cut_of(ledger.record("gold") or {})
    return SourceState(
        committed_at=cut["cut_committed_at"],
        published_at=cut["published_at"],
        gold=GoldState.of(ledger),
        runs=tuple(last_runs_by_outcome(spark, settings.layout, settings.source)),
    )
