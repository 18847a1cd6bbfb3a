"""The steps of a sync: what they wait for, what they show, and the exit code they lead to."""

from __future__ import annotations

import os
import shutil
import signal
import time
from collections.abc import Sequence
from datetime import datetime, timedelta, timezone
from pathlib import Path
from types import SimpleNamespace
from typing import Any, Literal

import pytest

from pipeline.errors import SettingsError
from pipeline.lake.ledger.ledger import Entry
from pipeline.lake.ledger.run_record import RunRecord
from pipeline.observe import LayerReport
from pipeline.observe.interruption import handling_signals
from pipeline.observe.progress import QuietProgress
from pipeline.run import commands
from pipeline.run.sync import command, rounds
from pipeline.run.sync.rounds import Rounds
from pipeline.settings import Settings
from tests.support.bronze.bronze_input import FILES
from tests.support.page.made_page import made_run
from tests.support.spark.no_spark import NEVER_STARTED

WORKED = LayerReport("bronze", (4,), {"files": 1})
IDLE = LayerReport("bronze")
HELD = LayerReport("gold", faults=("shop.orders is held: why.",))
NOW = datetime.now(timezone.utc)


class Played:
    """A lake whose commands report what the test says."""

    def __init__(self, folder: Path, patch: pytest.MonkeyPatch) -> None:
        self.binlogs = folder / "binlogs"
        self.commands: list[str] = []
        self.reports: list[LayerReport] = []
        self.shown: list[Sequence[LayerReport]] = []
        self.entries: list[Entry] = []
        patch.setattr(rounds, "spark_for", lambda *_, **__: NEVER_STARTED)
        patch.setattr(rounds, "recorded_run", self._recorded_run)
        patch.setattr(rounds, "Ledger", self._ledger)
        patch.setattr(rounds, "datetime", SimpleNamespace(now=lambda _: NOW))
        self.settings = Settings.load(
            None,
            source="shop",
            lake=str(folder / "lake"),
            binlogs=str(self.binlogs),
            server={"url": "mysql://binlake@db"},
        )

    def begun(self, *, lasting: bool = True) -> Rounds:
        return Rounds(
            self.settings, QuietProgress(), self.shown.append, lasting=lasting, connector=True
        )

    def land(self) -> None:
        self.binlogs.mkdir()
        shutil.copy(FILES[0], self.binlogs)

    def _ledger(self, spark: object, lake: object, source: str) -> Any:
        own = sorted((one for one in self.entries if one.source == source), key=lambda one: one.at)
        last = {one.layer: one for one in own}
        return SimpleNamespace(
            last_entries=lambda: [*last.values()],
            history=lambda layer: [one for one in own if one.layer == layer],
        )

    def _recorded_run(
        self, spark: object, settings: object, progress: object, name: str, recorder: Any
    ) -> tuple[list[LayerReport], None]:
        self.commands.append(name)
        found = [self.reports.pop(0)] if self.reports else [IDLE]
        if hasattr(recorder, "args"):
            recorder.args[0].update(found)
        return found, None


@pytest.fixture
def played(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Played:
    return Played(tmp_path, monkeypatch)


def test_seed_and_round_wait_until_a_capture_has_landed_a_log(played: Played) -> None:
    steps = played.begun()
    assert [steps.seed(), steps.round(), steps.seed()] == [False] * 3
    assert played.commands == []
    played.land()
    played.reports = [LayerReport("seed"), WORKED, IDLE]
    assert [steps.seed(), steps.round(), steps.round()] == [True, True, False]
    assert played.commands == ["seed", "run", "run"]


@pytest.mark.parametrize(
    ("reports", "shown", "code"),
    [
        ([WORKED, IDLE, IDLE], 1, 0),
        ([HELD, HELD, HELD], 1, 3),
        ([HELD, IDLE, IDLE], 2, 0),
        ([IDLE, WORKED, HELD], 2, 3),
    ],
)
def test_a_process_that_stays_shows_what_is_new_and_ends_as_its_last_round(
    reports: list[LayerReport], shown: int, code: int, played: Played
) -> None:
    played.land()
    played.reports = [*reports]
    steps = played.begun()
    for _ in reports:
        steps.round()
    assert (len(played.shown), steps.exit_code) == (shown, code)


@pytest.mark.parametrize(("outcome", "recorded"), [("failed", 1), ("done", 0), (None, 0)])
def test_the_first_round_after_a_process_that_failed_is_recorded(
    outcome: Literal["failed", "done"] | None,
    recorded: int,
    played: Played,
    monkeypatch: pytest.MonkeyPatch,
    kept: list[RunRecord],
) -> None:
    """Otherwise the failed run stays the last one until the source changes something."""
    spark: Any = SimpleNamespace(version="4.2.0", conf={})
    monkeypatch.setattr(rounds, "spark_for", lambda *_, **__: spark)
    monkeypatch.setattr(rounds, "recorded_run", commands.recorded_run)
    monkeypatch.setattr(commands, "COMMANDS", {"run": {"gold": lambda *_: IDLE}})
    earlier = [made_run(NOW, source="shop", command="run", outcome=outcome)] if outcome else []
    monkeypatch.setattr(rounds, "last_runs_by_outcome", lambda *_: earlier)
    played.land()
    steps = played.begun()
    assert [steps.round(), steps.round()] == [False, False]
    assert [record.outcome for record in kept] == ["nothing_new"] * recorded


def test_sigterm_during_a_round_lets_it_end(played: Played) -> None:
    """The command itself, whose chores decide what a signal interrupts."""
    played.land()
    ended: list[str] = []
    settings = played.settings.with_section("sync", every="0s", maintain=None)

    def run(*_: object) -> tuple[list[LayerReport], None]:
        os.kill(os.getpid(), signal.SIGTERM)
        time.sleep(0.05)
        ended.append("run")
        return [WORKED], None

    with (
        pytest.MonkeyPatch.context() as patch,
        handling_signals(lambda error: None) as interruption,
    ):
        # Otherwise a thread ends this process if a signal is to end it and it does not.
        interruption.longest = 1e9
        patch.setattr(rounds, "recorded_run", run)
        patch.setattr(command, "require_places", lambda *_: None)
        code = command.continuously(settings, QuietProgress(), played.shown.append, captures=False)
    assert (code, ended) == (0, ["run"])


def test_a_table_that_could_not_be_seeded_is_in_the_exit_code(played: Played) -> None:
    played.land()
    played.reports = [HELD, WORKED]
    steps = played.begun()
    steps.seed()
    steps.round()
    assert steps.exit_code == 3


def entry(layer: str, hours: float, *, state: str = "finished", source: str = "shop") -> Entry:
    return Entry(source, layer, 1, state, "r", NOW - timedelta(hours=hours))


@pytest.mark.parametrize(
    ("entries", "due"),
    [
        ([], False),
        ([entry("bronze", 30)], False),
        ([entry("gold", 23), entry("gold", 0)], False),
        ([entry("gold", 25), entry("gold", 0)], True),
        ([entry("gold", 99), entry("maintenance", 23)], False),
        ([entry("gold", 99), entry("maintenance", 25)], True),
        ([entry("gold", 99), entry("maintenance", 1, state="planned")], True),
        ([entry("gold", 99), entry("maintenance", 1, source="crm")], True),
        ([entry("gold", 99, source="crm")], False),
    ],
    ids=[
        "a new lake",
        "nothing published",
        "less than a day old",
        "never maintained",
        "by any command, less than a day ago",
        "more than a day ago",
        "killed",
        "another source was",
        "only another source is there",
    ],
)
def test_when_maintenance_is_due(entries: list[Entry], due: bool, played: Played) -> None:
    played.entries = entries
    assert played.begun().maintain() is due
    assert played.commands == ["maintain"] * due


@pytest.mark.parametrize(
    ("given", "key"),
    [
        ({"capture": {"to": "/logs"}, "server": "mysql://me@db"}, "lake"),
        ({"lake": "/lake", "server": "mysql://me@db"}, r"capture\.to"),
        ({"lake": "/lake", "capture": {"to": "/logs"}}, r"server\.host"),
        ({"lake": "/lake", "capture": {"to": "s3://logs"}, "server": "mysql://me@db"}, "spool"),
    ],
)
def test_what_a_sync_cannot_do_without(given: dict[str, Any], key: str) -> None:
    with pytest.raises(SettingsError, match=key):
        command.ready(Settings.load(None, **given))


@pytest.mark.parametrize(("binlogs", "read"), [("", "/logs"), ("/archive", "/archive")])
def test_rounds_read_what_is_captured_unless_binlogs_says_otherwise(
    binlogs: str, read: str
) -> None:
    given = {"lake": "/lake", "capture": {"to": "/logs"}, "server": "mysql://me@db"}
    assert command.ready(Settings.load(None, binlogs=binlogs, **given)).binlogs == read


def test_a_sync_captures_seeds_and_runs_in_this_order(
    played: Played, monkeypatch: pytest.MonkeyPatch
) -> None:
    played.settings = played.settings.updated(
        capture={"to": str(played.binlogs), "forever": True}, server="mysql://me@db"
    )

    def capture(settings: Settings, _: object) -> None:
        assert not settings.capture.forever
        played.commands.append("capture")
        played.land()

    monkeypatch.setattr(command, "capture_logs", capture)
    played.entries = [entry("gold", 99)]
    code, record = command.once(played.settings, QuietProgress(), played.shown.append)
    assert played.commands == ["capture", "seed", "run", "maintain"]
    assert (code, record, len(played.shown)) == (0, None, 3)
