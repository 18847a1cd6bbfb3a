"""The parts that bronze, silver and gold share: the context of a layer's run, and its batches.

A layer finishes the open plan, if there is one, then proposes and carries out plans until there
is nothing new. `Batches` keeps their results for the report.
"""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import Any, Generic, TypeAlias, TypeVar

from pyspark.sql import SparkSession

from pipeline.lake import Lake, Ledger
from pipeline.lake.lazy_spark import Spark, started
from pipeline.lake.ledger.ledger import Plan
from pipeline.lake.ledger.ledger_table import Layer
from pipeline.observe import LayerReport, Progress
from pipeline.settings import Settings


@dataclass(frozen=True, slots=True)
class LayerRun:
    """The context of one run of a layer: everything that its steps need but do not change."""

    spark: Spark
    settings: Settings
    ledger: Ledger
    progress: Progress

    @classmethod
    def begin(cls, spark: Spark, settings: Settings, progress: Progress) -> LayerRun:
        """Return the context of a run, with the ledger of the source in `settings`."""
        return cls(spark, settings, Ledger(spark, settings.layout, settings.source), progress)

    @property
    def session(self) -> SparkSession:
        """The Spark session, which starts if necessary."""
        return started(self.spark)

    @property
    def lake(self) -> Lake:
        """The layout of the lake."""
        return self.settings.layout

    @property
    def source(self) -> str:
        """The name of the source in the lake."""
        return self.settings.source


@dataclass(frozen=True, slots=True, kw_only=True)
class Done:
    """The result of a plan: totals by name, and sentences for the report."""

    plan: Plan
    counts: Mapping[str, int]
    faults: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()


D = TypeVar("D", bound=Done)
CarryOut: TypeAlias = Callable[[LayerRun, Plan], D]
"""Carries out a plan, which another run may have committed."""


class Batches(Generic[D]):
    """The batches that one run of a layer carries out.

    They are carried out by `carry_out`, unless another function is given for one of them.
    """

    def __init__(self, layer: Layer, run: LayerRun, carry_out: CarryOut[D]) -> None:
        self._layer = layer
        self._run = run
        self._carry_out = carry_out
        self._began = time.monotonic()
        self._batches: list[int] = []
        self._counts: Counter[str] = Counter()
        self._faults: list[str] = []
        self._notes: list[str] = []

    def finish_open(self, carry_out: CarryOut[D] | None = None) -> D | None:
        """Carry out the plan that an earlier run left open, if any."""
        plan = self._run.ledger.resume_open(self._layer)
        return self._finish(plan, carry_out) if plan else None

    def propose(self, body: dict[str, Any], carry_out: CarryOut[D] | None = None) -> D:
        """Commit `body` as the next plan, and carry out the plan that the ledger then has.

        It is another run's if that run was faster, or left one open.
        """
        return self._finish(self._run.ledger.propose(self._layer, body), carry_out)

    def report(
        self,
        *,
        faults: Iterable[str] = (),
        gaps: Iterable[str] = (),
        notes: Iterable[str] = (),
    ) -> LayerReport:
        """Return the report of all batches; the arguments' sentences come after the batches'."""
        return LayerReport(
            layer=self._layer,
            batches=tuple(self._batches),
            counts=dict(self._counts),
            faults=(*self._faults, *faults),
            gaps=tuple(gaps),
            notes=(*self._notes, *notes),
            seconds=time.monotonic() - self._began,
        )

    def _finish(self, plan: Plan, carry_out: CarryOut[D] | None) -> D:
        done = (carry_out or self._carry_out)(self._run, plan)
        # Not the results themselves: they hold plans, which may list thousands of definitions.
        self._batches.append(done.plan.batch)
        self._counts.update(done.counts)
        self._faults += done.faults
        self._notes += done.notes
        return done
