"""Prometheus's metrics of a source, read back with Prometheus's own parser, and the alert rules."""

from __future__ import annotations

import re
import sys
from collections.abc import Mapping, Sequence
from dataclasses import replace
from datetime import datetime, timedelta, timezone
from pathlib import Path
from typing import Any

import pytest
import yaml
from prometheus_client.parser import text_fd_to_metric_families

from pipeline.errors import MissingRequirementError
from pipeline.gold import GoldState
from pipeline.gold.table.state import TableState
from pipeline.lake.ledger.run_record import Outcome, RunRecord, Sentence
from pipeline.run.monitoring.metrics import METRICS, write_textfile
from pipeline.run.monitoring.source_state import SourceState
from pipeline.schema_history import TableName
from pipeline.settings import Settings
from tests.support.observe.promtool import promtool, why_unavailable
from tests.unit.pipeline.lake.ledger.test_run_record import RECORD

DOCS = Path(__file__).parents[5] / "docs" / "guides"
RULES = DOCS / "binlake-alerts.yml"
NAME = re.compile(r"\bbinlake_[a-z_]+\b")
PUBLISHED = datetime(2026, 11, 22, 12, tzinfo=timezone.utc)
GOLD = GoldState(
    tables={
        TableName("shop", "a"): TableState("shop", "a", complete=True, held="it is damaged"),
        TableName("shop", "b"): TableState("shop", "b"),
        TableName("shop", "gone"): TableState("shop", "gone", dropped=True),
    }
)
FAILED = replace(RECORD, command="run", layers=("bronze", "silver", "gold"))
"""Bronze is done, and silver failed."""
INGESTED = replace(
    RECORD,
    command="ingest",
    outcome="faults",
    exit_code=3,
    layer_seconds={"bronze": 2.5},
    bytes=70,
    started_at=RECORD.started_at - timedelta(hours=1),
    finished_at=RECORD.finished_at - timedelta(hours=1),
)
APPLIED = replace(INGESTED, command="apply", layer_seconds={"silver": 3, "gold": 4.5}, exit_code=0)

Values = Mapping[tuple[str, ...], float]


def written(
    folder: Path, record: RunRecord, runs: Sequence[RunRecord] = (), **options: Any
) -> Values:
    """Return the values in the textfile, by name and by labels other than source and lake."""
    file = folder / "binlake.prom"
    metrics = {"textfile": str(file), **options.pop("metrics", {})}
    settings = Settings.load(None, source="shop", metrics=metrics, lake="s3a://me:s3cret@lake/x")
    published = options.pop("published", PUBLISHED)
    committed = published and published - timedelta(minutes=5)
    write_textfile(settings, SourceState(committed, published, GOLD, tuple(runs)), record)
    values: dict[tuple[str, ...], float] = {}
    with file.open() as lines:
        for family in text_fd_to_metric_families(lines):
            assert (family.type, family.documentation) == ("gauge", METRICS[family.name])
            for sample in family.samples:
                labels = dict(sample.labels)
                assert (labels.pop("source"), labels.pop("lake")) == ("shop", "s3a://***@lake/x")
                values[(sample.name, *labels.values())] = sample.value
    assert [path.name for path in folder.iterdir()] == [file.name]
    return values


def test_a_failed_run_keeps_what_earlier_runs_published(tmp_path: Path) -> None:
    record = replace(FAILED, newest_file_at=PUBLISHED, faults=(Sentence("bronze", "damaged"),))
    values = written(tmp_path, record, [INGESTED, APPLIED])
    finished = record.finished_at.timestamp()
    assert values == {
        ("binlake_published_commit_timestamp_seconds",): PUBLISHED.timestamp() - 300,
        ("binlake_published_timestamp_seconds",): PUBLISHED.timestamp(),
        ("binlake_lag_seconds",): 300,
        ("binlake_newest_file_timestamp_seconds",): PUBLISHED.timestamp(),
        ("binlake_last_run_timestamp_seconds",): finished,
        ("binlake_last_run_exit_code",): 1,
        ("binlake_layer_timestamp_seconds", "bronze"): finished,
        ("binlake_layer_timestamp_seconds", "silver"): finished - 3600,
        ("binlake_layer_timestamp_seconds", "gold"): finished - 3600,
        ("binlake_layer_seconds", "bronze"): 1.5,
        ("binlake_layer_seconds", "silver"): 3,
        ("binlake_layer_seconds", "gold"): 4.5,
        ("binlake_layer_faults", "bronze"): 1,
        ("binlake_layer_faults", "silver"): 0,
        ("binlake_layer_faults", "gold"): 0,
        **{("binlake_layer_gaps", layer): 0 for layer in ("bronze", "silver", "gold")},
        ("binlake_ingested_bytes",): 2,
        ("binlake_decoded_rows",): 9,
        ("binlake_applied_rows",): 4,
        ("binlake_tables",): 2,
        ("binlake_held_tables",): 1,
        ("binlake_incomplete_tables",): 1,
    }


@pytest.mark.parametrize(("outcome", "failing"), [("failed", 1), ("done", 0)])
def test_a_capture_has_a_metric_of_its_own_beside_the_last_run(
    tmp_path: Path, outcome: Outcome, failing: int
) -> None:
    capture = replace(RECORD, command="capture", layers=("capture",), outcome=outcome)
    values = written(tmp_path, replace(capture, layer_seconds={}), [APPLIED])
    assert values["binlake_capture_failing",] == failing
    assert values["binlake_last_run_exit_code",] == 0
    assert values["binlake_last_run_timestamp_seconds",] == APPLIED.finished_at.timestamp()


def test_what_is_not_known_has_no_series(tmp_path: Path) -> None:
    record = replace(FAILED, layer_seconds={})
    names = {name for name, *_ in written(tmp_path, record, published=None)}
    assert names == {
        *("binlake_last_run_timestamp_seconds", "binlake_last_run_exit_code"),
        *("binlake_tables", "binlake_held_tables", "binlake_incomplete_tables"),
    }


def test_tables_have_metrics_only_if_asked(tmp_path: Path) -> None:
    values = written(tmp_path, APPLIED, metrics={"tables": True})
    assert {key: value for key, value in values.items() if "_table_" in key[0]} == {
        ("binlake_table_decoded_rows", "shop.cups"): 4,
        ("binlake_table_decoded_rows", "shop.pots"): 5,
        ("binlake_table_applied_rows", "shop.cups"): 4,
        ("binlake_table_held", "shop.a"): 1,
        ("binlake_table_held", "shop.b"): 0,
        ("binlake_table_complete", "shop.a"): 1,
        ("binlake_table_complete", "shop.b"): 0,
    }
    assert not [name for name, *_ in written(tmp_path, APPLIED) if "_table_" in name]


def test_a_file_that_cannot_be_written_is_named(tmp_path: Path) -> None:
    with pytest.raises(MissingRequirementError, match=r"gone/binlake.prom cannot be written: No"):
        written(tmp_path / "gone", RECORD)


def test_a_missing_package_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "prometheus_client", None)
    with pytest.raises(MissingRequirementError, match=r"pip install 'binlake\[metrics\]'"):
        written(tmp_path, RECORD)


def test_the_guide_has_every_metric() -> None:
    assert set(METRICS) <= set(NAME.findall((DOCS / "monitoring.md").read_text()))


def test_the_alert_rules_use_metrics_that_exist() -> None:
    (group,) = yaml.safe_load(RULES.read_text())["groups"]
    rules = {rule["alert"]: rule["expr"] for rule in group["rules"]}
    used = {name for expression in rules.values() for name in NAME.findall(expression)}
    assert used
    assert used <= set(METRICS)
    assert "absent(binlake_published_timestamp_seconds)" in rules["BinlakeMetricsAbsent"]


def test_promtool_accepts_the_alert_rules_and_they_fire(tmp_path: Path) -> None:
    if reason := why_unavailable():
        pytest.skip(reason)
    (group,) = yaml.safe_load(RULES.read_text())["groups"]
    # promtool compares annotations, too.
    bare = [{**rule, "annotations": {}} for rule in group["rules"]]
    groups = {"groups": [{**group, "rules": bare}]}
    (tmp_path / "rules.yml").write_text(yaml.safe_dump(groups))
    (tmp_path / "test.yml").write_text(yaml.safe_dump(ALERT_TESTS))
    promtool("check", "rules", RULES)
    promtool("test", "rules", tmp_path / "test.yml")


def fires(rule: str, at: str, **labels: str) -> dict[str, Any]:
    """Return the test that an alert fires for these labels at a time, or that it does not."""
    alerts = [{"exp_labels": labels}] if labels else []
    return {"alertname": rule, "eval_time": at, "exp_alerts": alerts}


def series(name: str, value: int, well: int | None = None, **labels: str) -> list[dict[str, str]]:
    """Return a metric of `shop` with one value for three days, and that of `well`, if any."""
    found = {"shop": value, **({} if well is None else {"well": well})}
    more = "".join(f', {label}="{text}"' for label, text in labels.items())
    return [
        {
            "series": f'binlake_{name}{{source="{source}", lake="/lake"{more}}}',
            "values": f"{number}x880",
        }
        for source, number in found.items()
    ]


SHOP = {"source": "shop", "lake": "/lake"}
SERIES = '{source="shop", lake="/lake"}'
ALERT_TESTS: dict[str, Any] = {
    "rule_files": ["rules.yml"],
    "evaluation_interval": "5m",
    "tests": [
        {
            "interval": "5m",
            # Published and run once, at 0; the file is no longer collected after two hours.
            "input_series": [
                {"series": f"binlake_published_timestamp_seconds{SERIES}", "values": "0x120"},
                {"series": f"binlake_last_run_timestamp_seconds{SERIES}", "values": "0x24"},
            ],
            "alert_rule_test": [
                fires("BinlakePublicationOld", "5h"),
                fires("BinlakePublicationOld", "7h", severity="critical", **SHOP),
                fires("BinlakeSourceGone", "1h"),
                fires("BinlakeSourceGone", "3h", severity="critical", **SHOP),
                fires("BinlakeMetricsAbsent", "5h"),
                fires("BinlakeMetricsAbsent", "11h", severity="critical"),
            ],
        },
        {
            "interval": "5m",
            # One run at 0, whose file is collected for three days; that of `well` has no problem.
            "input_series": [
                *series("layer_timestamp_seconds", 0, layer="gold"),
                *series("layer_timestamp_seconds", 0, layer="maintenance"),
                *series("newest_file_timestamp_seconds", 0),
                *series("last_run_exit_code", 1, well=3),
                *series("capture_failing", 1, well=0),
                *series("held_tables", 2, well=0),
                *series("layer_gaps", 1, well=0, layer="bronze"),
                *series("layer_faults", 3, well=0, layer="silver"),
                *series("lag_seconds", 3700, well=3500),
            ],
            "alert_rule_test": [
                fires("BinlakeGoldNotRun", "1h"),
                fires("BinlakeGoldNotRun", "2h", severity="critical", layer="gold", **SHOP),
                fires("BinlakeRunFails", "20m"),
                fires("BinlakeRunFails", "40m", severity="warning", **SHOP),
                fires("BinlakeCaptureFails", "10m"),
                fires("BinlakeCaptureFails", "20m", severity="warning", **SHOP),
                fires("BinlakeTablesHeld", "1m", severity="warning", **SHOP),
                fires("BinlakeGap", "1m", severity="critical", **SHOP),
                fires("BinlakeFaults", "10m"),
                fires("BinlakeFaults", "20m", severity="warning", layer="silver", **SHOP),
                fires("BinlakeNotMaintained", "71h"),
                fires(
                    "BinlakeNotMaintained", "73h", severity="warning", layer="maintenance", **SHOP
                ),
                fires("BinlakeLagHigh", "10m"),
                fires("BinlakeLagHigh", "20m", severity="warning", **SHOP),
                fires("BinlakeNoNewLog", "5h"),
                fires("BinlakeNoNewLog", "7h", severity="warning", **SHOP),
            ],
        },
    ],
}


def test_every_alert_is_fired_by_a_test() -> None:
    (group,) = yaml.safe_load(RULES.read_text())["groups"]
    fired = {
        one["alertname"]
        for test in ALERT_TESTS["tests"]
        for one in test["alert_rule_test"]
        if one["exp_alerts"]
    }
    assert fired == {rule["alert"] for rule in group["rules"]}
