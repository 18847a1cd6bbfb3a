"""The recorder of a round: it skips rounds with nothing new, and reports each problem once.

Each round finds the same held tables, gaps and left-out tables again. A sentence is logged when a
round has it for the first time, and again once a round no longer has it. What silver could not
decode is only in the report of the round that finds it: it is not resolved by the next one.
"""

from __future__ import annotations

import time
from dataclasses import dataclass, field
from typing import Any

from pipeline.lake.ledger.run_record import RunRecord
from pipeline.observe import LayerReport, say
from pipeline.run.monitoring import SILVER_FAULT
from pipeline.run.recorder import LEVELS, Recorder, sentences

IDLE_SECONDS = 60.0
"""Seconds between reports to monitoring of rounds with nothing new: its alerts go by the time since
a run completed a layer."""


@dataclass(slots=True)
class Reported:
    """The sentences that the last round reported: kind, layer and text of each sentence, in order.

    `failed`: it ended with an error, here or in an earlier process. `monitored`: when monitoring
    had the last report, by a clock that only goes forward.
    """

    sentences: dict[tuple[str, str, str], None] = field(default_factory=dict)
    failed: bool = False
    monitored: float = -IDLE_SECONDS

    def update(self, reports: list[LayerReport], *, ended: bool = True) -> bool:
        """Log what has changed since the last round; return True if anything has.

        `ended`: all layers have; after an error, nothing counts as resolved.
        """
        now = dict.fromkeys(sentences(reports))
        new = [one for one in now if one not in self.sentences]
        gone = [one for one in self.sentences if one not in now] if ended else []
        self.sentences = now if ended else self.sentences | now
        for kind, layer, text in new:
            say(kind, text, level=LEVELS[kind], layer=layer)
        for kind, layer, text in gone:
            if kind != "note" and (layer, kind) != SILVER_FAULT:
                say("cleared", f"Resolved: {text}", layer=layer)
        return bool(new or gone)


class RoundRecorder(Recorder):
    """Recorder of a round; skips one that is like the previous one and had nothing to do."""

    def __init__(self, reported: Reported, *arguments: Any) -> None:
        super().__init__(*arguments)
        self._reported = reported

    def run_began(self) -> None:
        """Log nothing: a round may have nothing to do."""

    def layer_began(self, layer: str) -> None:
        """Log nothing."""
        self.monitor.layer_began(layer, quietly=True)

    def layer_done(self, report: LayerReport) -> None:
        """Keep a layer's report, whose sentences are logged at the end of the round."""
        self.keep(report)
        self.monitor.layer_done(report)

    def failed(self, error: BaseException) -> None:
        """Record a round that an error or a signal ended, and log what its layers found before."""
        self._reported.failed = True
        self._reported.update(self.reports, ended=False)
        super().failed(error)

    def done(self, exit_code: int) -> RunRecord | None:
        """Log what has changed, and record the round if it worked or anything has.

        So is the first one after a failure: it shows that the failure has passed.
        """
        changed = self._reported.update(self.reports) or self._reported.failed
        self._reported.failed = False
        worked = any(report.worked for report in self.reports)
        now = time.monotonic()
        if worked or changed:
            self._reported.monitored = now
            return super().done(exit_code)
        if now - self._reported.monitored >= IDLE_SECONDS:
            self._reported.monitored = now
            return self.idle(exit_code)
        return None
