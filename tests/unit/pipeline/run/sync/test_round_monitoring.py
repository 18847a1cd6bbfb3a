"""Reports of rounds to monitoring: those without news once a minute, and no lineage of them."""

from __future__ import annotations

import json
from functools import partial
from pathlib import Path
from types import SimpleNamespace

import pytest

from pipeline.lake.ledger.run_store import read_runs
from pipeline.observe import LayerReport
from pipeline.observe.progress import QuietProgress
from pipeline.run import commands
from pipeline.run.sync import round_recorder
from pipeline.run.sync.round_recorder import IDLE_SECONDS, Reported, RoundRecorder
from pipeline.settings import Settings
from tests.support.observe.receiver import receiver
from tests.support.spark.no_spark import NEVER_STARTED

IDLE = LayerReport("gold")
WORKED = LayerReport("gold", (1,), {"shop.orders": 9})
GAP = LayerReport("gold", gaps=("1 file is missing between a and b: copy it.",))


class Rounds:
    """Rounds of a lake in a folder, whose only layer reports what it is given."""

    def __init__(self, folder: Path, url: str, monkeypatch: pytest.MonkeyPatch) -> None:
        self.metrics, self.lineage = folder / "binlake.prom", folder / "events.ndjson"
        self.now = 0.0
        self._patch = monkeypatch
        self._make = partial(RoundRecorder, Reported())
        self.settings = Settings.load(
            None,
            source="shop",
            lake=str(folder / "lake"),
            metrics={"textfile": str(self.metrics)},
            lineage={"openlineage": str(self.lineage)},
            notify={"url": f"{url}/hook"},
        )
        clock = SimpleNamespace(monotonic=lambda: self.now)
        monkeypatch.setattr(round_recorder, "time", clock)

    def round(self, report: LayerReport, *, after: float = 1.0) -> bool:
        """Carry out a round some seconds after the last; return True if it wrote the metrics."""
        self.now += after
        self.metrics.unlink(missing_ok=True)
        self._patch.setattr(commands, "COMMANDS", {"run": {"gold": lambda *_: report}})
        commands.recorded_run(NEVER_STARTED, self.settings, QuietProgress(), "run", self._make)
        return self.metrics.exists()

    @property
    def events(self) -> list[str]:
        """The kinds of the lineage events so far."""
        if not self.lineage.exists():
            return []
        return [json.loads(line)["eventType"] for line in self.lineage.read_text().splitlines()]

    @property
    def records(self) -> int:
        """The number of rounds that left a record."""
        return len(read_runs(NEVER_STARTED, self.settings.layout))


def test_rounds_without_news_refresh_the_metrics_once_a_minute(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with receiver() as server:
        rounds = Rounds(tmp_path, server.url, monkeypatch)
        assert [rounds.round(IDLE) for _ in range(3)] == [True, False, False]
        assert rounds.round(IDLE, after=IDLE_SECONDS)
        assert (rounds.events, rounds.records, server.bodies) == ([], 0, [])
        assert rounds.round(WORKED)
        assert (rounds.events, rounds.records) == (["START", "COMPLETE"], 1)


def test_a_gap_is_sent_once_however_many_rounds_follow(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with receiver() as server:
        rounds = Rounds(tmp_path, server.url, monkeypatch)
        for _ in range(3):
            rounds.round(GAP, after=IDLE_SECONDS)
        rounds.round(IDLE)
        assert [body["event"] for body in server.bodies] == ["problem", "resolved"]
        assert rounds.records == 2
