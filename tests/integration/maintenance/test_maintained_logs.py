"""A lake of the demo's logs, trimmed as far as possible, followed by the rest of the logs."""

from __future__ import annotations

import io
import shutil
from pathlib import Path

import pytest
from pyspark.sql import SparkSession
from rich.console import Console
from typer.testing import CliRunner

import binlake
from demo.show import show_figures
from pipeline.bronze import read_files
from pipeline.cli.app import app
from pipeline.errors import SettingsError
from pipeline.lake import Lake, delta
from pipeline.maintenance import batch, job, preview
from pipeline.observe.progress import QuietProgress
from pipeline.run import read_status
from pipeline.settings import Settings
from tests.support.bronze.restore import restore
from tests.support.lake.run_layers import run_layers

DEMO = Path(__file__).parents[3] / "demo"
LOGS = sorted((DEMO / "binlogs").iterdir())


@pytest.mark.long
def test_trimming_is_reported_and_later_logs_are_applied_as_without_it(
    spark: SparkSession, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for module in (batch, preview):
        monkeypatch.setattr(module, "shared_tables", lambda *_: [])
    folder = tmp_path / "binlogs"
    folder.mkdir()
    at_once = {"cuts": "0 days", "silver": "0 days", "bronze": "0 days"}
    settings = Settings.load(
        None,
        source="shop",
        binlogs=str(folder),
        lake=str(tmp_path / "lake"),
        retention=at_once,
    )
    lake = Lake(settings.lake)
    for log in LOGS[:-1]:
        shutil.copy(log, folder)
    run_layers(spark, settings, QuietProgress())
    result = CliRunner().invoke(app, ["maintain", "--lake", settings.lake, "--dry-run"])
    assert result.exit_code == 0, result
    assert "Maintenance of shop" in result.output
    assert "all of bronze is kept: retention.bronze is forever" in result.output
    report = job.run(spark, settings, QuietProgress())
    assert report.counts["binlog files removed"] == len(LOGS) - 2
    record = delta.read(spark, lake.segments).select("file").distinct().collect()
    assert [row["file"] for row in record] == [LOGS[-2].name]
    with pytest.raises(SettingsError, match=r"binlog.000001 were removed from bronze by binlake"):
        list(restore(spark, lake, "shop", LOGS[0].name))
    kept = b"".join(restore(spark, lake, "shop", LOGS[-2].name))
    assert LOGS[-2].read_bytes().startswith(kept)
    assert not [problem for problem in read_status(spark, settings).problems if "lacks" in problem]

    # The old logs are still in the folder, one of them copied again; the last one is new.
    shutil.copy(LOGS[0], folder / "copy")
    (folder / "copy").replace(folder / LOGS[0].name)
    shutil.copy(LOGS[-1], folder)
    reports = run_layers(spark, settings, QuietProgress())
    assert all(report.clean for report in reports), reports
    assert {row.file for row in read_files(spark, lake, "shop")} == {log.name for log in LOGS}
    gold, screen = binlake.read(settings, engine="arrow"), io.StringIO()
    assert show_figures(gold, DEMO / "expected.json", Console(file=screen)), screen
