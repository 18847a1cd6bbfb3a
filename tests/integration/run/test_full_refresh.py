"""Full refreshes of a lake of real logs: killed midway, refused, layer by layer."""

from __future__ import annotations

import shutil
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest
from pyspark.sql import SparkSession

from pipeline.errors import SettingsError
from pipeline.lake import Lake, Ledger, delta
from pipeline.lake.ledger.ledger_table import PLANNED
from pipeline.maintenance import run as maintain
from pipeline.observe import LayerReport
from pipeline.observe.progress import QuietProgress
from pipeline.run import read_status
from pipeline.run.commands import COMMANDS
from pipeline.schema_history.alter.items import TimelineItem
from pipeline.schema_history.timeline.stored_timeline import read_items
from pipeline.settings import Settings
from pipeline.silver.full_refresh import RefreshRefusedError
from tests.support.lake.kills import AfterEachCommit, Executioner, Killed, at_commits

DEMO = Path(__file__).parents[3] / "demo" / "binlogs"
SOURCE = "shop"
TABLES = ("shop.orders", "shop.payments")
"""One is altered in the third file, one has a TIME column."""

Rows = list[tuple[Any, ...]]


class LakeUnderTest:
    """A lake with two tables of the demo's logs, and commands on it."""

    def __init__(self, spark: SparkSession, folder: Path) -> None:
        self.spark = spark
        self.lake = Lake(str(folder / "lake"))
        self.binlogs = folder / "binlogs"
        self.binlogs.mkdir(parents=True)
        self.options: dict[str, Any] = {"include": list(TABLES)}

    def put(self, *numbers: int) -> None:
        for number in numbers:
            shutil.copy(DEMO / f"binlog.{number:06}", self.binlogs)

    @property
    def settings(self) -> Settings:
        place = {"source": SOURCE, "binlogs": str(self.binlogs), "lake": self.lake.root}
        return Settings.load(None, **place, parallel_tables=1, **self.options)

    def run(self, command: str = "run") -> list[LayerReport]:
        """Run `binlake COMMAND`, without a record."""
        jobs = COMMANDS[command].values()
        return [job(self.spark, self.settings, QuietProgress()) for job in jobs]

    def read(self, path: str, version: int | None = None) -> Rows:
        rows = delta.read(self.spark, path, version=version).collect()
        return sorted(map(tuple, rows), key=repr)

    def gold(self, table: str = "payments", version: int | None = None) -> Rows:
        return self.read(self.lake.gold("shop", table), version)

    def cuts(self) -> list[Mapping[str, Any]]:
        rows = delta.read(self.spark, self.lake.cuts).orderBy("batch").collect()
        return [row.asDict(recursive=True) for row in rows]

    def at(self, cut: Mapping[str, Any]) -> dict[str, Rows]:
        """Return the tables of a published snapshot."""
        return {
            entry["table"]: self.gold(entry["table"], entry["delta_version"])
            for entry in cut["tables"]
        }

    def items(self) -> list[TimelineItem]:
        return read_items(self.spark, self.lake, SOURCE)

    def commits(self) -> int:
        return len(list(Path(self.lake.root).rglob("_delta_log/*.json")))

    def begun(self) -> dict[str, int]:
        """Return by layer how many batches begin a full refresh; no number occurs twice."""
        ledger = Ledger(self.spark, self.lake, SOURCE)
        planned = [e for e in ledger.history() if e.state == PLANNED]
        assert len({(e.layer, e.batch) for e in planned}) == len(planned)
        rows = delta.read(self.spark, ledger.path).where("state = 'planned'")
        silver = rows.where("layer = 'silver' AND get_json_object(body, '$.begins') IS NOT NULL")
        gold = rows.where("layer = 'gold' AND get_json_object(body, '$.rebuild.batch') = batch")
        return {"silver": silver.count(), "gold": gold.count()}


@pytest.fixture
def lake(spark: SparkSession, tmp_path: Path) -> LakeUnderTest:
    return LakeUnderTest(spark, tmp_path)


@pytest.mark.long
def test_a_changed_type_gives_the_same_as_a_new_lake_though_runs_are_killed(
    lake: LakeUnderTest, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    lake.put(1, 2)
    lake.run()
    (before,) = lake.cuts()
    texts = lake.at(before)
    assert any(":" in str(row) for row in texts["payments"])
    lake.put(3)
    # Gold's plan is open then, of changes that silver will replace.
    at_commits(monkeypatch, Executioner(2, after=True, layer="gold"))
    with pytest.raises(Killed):
        lake.run()
    monkeypatch.undo()

    lake.options["types"] = {"time": "micros"}
    with pytest.raises(SettingsError, match="--full-refresh"):
        lake.run()
    lake.options["segments"] = {"batch": 1}  # a file at a time
    killer = AfterEachCommit(nth=7)
    at_commits(monkeypatch, killer)
    kills = 0
    while True:
        try:
            lake.run("run --full-refresh")
            break
        except Killed:
            kills += 1
        assert lake.cuts()[0] == before
        assert len(lake.cuts()) == 1 or killer.commits[-1].endswith(("_cuts", "batches"))
        if kills == 3:
            monkeypatch.undo()
            assert "full refresh is in progress" in str(read_status(lake.spark, lake.settings))
            at_commits(monkeypatch, killer)
    monkeypatch.undo()
    assert kills > 3
    # The killed run of gold counts: its plan was set aside, which begins the refresh.
    assert lake.begun() == {"silver": 1, "gold": 0}
    assert lake.at(before) == texts
    assert not any(source.refresh for source in read_status(lake.spark, lake.settings).sources)

    new = LakeUnderTest(lake.spark, tmp_path / "new")
    new.options = {**lake.options, "segments": {}}
    new.put(1, 2, 3)
    new.run()
    last, wanted = lake.cuts()[-1], new.cuts()[-1]
    assert lake.at(last) == new.at(wanted)
    assert [entry["complete"] for entry in last["tables"]] == [True, True]
    assert {**last, "batch": 0, "tables": 0} == {**wanted, "batch": 0, "tables": 0}
    assert lake.items() == new.items()
    for version, table in ((1, "orders"), (2, "orders"), (1, "payments")):
        path, other = (one.lake.changes("shop", table, version) for one in (lake, new))
        assert lake.read(path) == new.read(other)


@pytest.mark.long
def test_refresh_layer_by_layer_and_refusal_if_something_is_missing(lake: LakeUnderTest) -> None:
    lake.put(1, 2)
    lake.run()
    both = lake.at(lake.cuts()[0])
    lake.options["include"] = ["shop.orders"]
    (decoded,) = lake.run("decode --full-refresh")
    assert any("full refresh has started" in note for note in decoded.notes)
    (applied,) = lake.run("apply")  # as a separate task
    (note,) = applied.notes
    assert note.startswith("shop.payments was not rebuilt: ")
    assert lake.begun() == {"silver": 1, "gold": 1}
    last = lake.cuts()[-1]
    assert lake.at(last) == both
    assert {e["table"]: e["complete"] for e in last["tables"]} == {
        "orders": True,
        "payments": False,
    }
    lake.options["include"] = list(TABLES)
    lake.run("run --full-refresh")
    assert lake.begun() == {"silver": 2, "gold": 2}
    assert lake.at(lake.cuts()[-1]) == both

    lake.options["retention"] = {"silver": "0 days", "bronze": "0 days"}
    maintain(lake.spark, lake.settings, QuietProgress())
    commits = lake.commits()
    for command, missing in (
        ("run --full-refresh", "binlog.000001"),
        ("decode --full-refresh", "binlog.000001"),
        ("apply --full-refresh", "removed from silver"),
    ):
        with pytest.raises(RefreshRefusedError, match=missing):
            lake.run(command)
    assert lake.commits() == commits
    lake.put(3)
    lake.run()
    assert len(lake.gold()) > len(both["payments"])
