"""The record that a comparison with a server leaves."""

from __future__ import annotations

from dataclasses import replace
from datetime import datetime, timedelta, timezone
from pathlib import Path
from typing import Any, cast

import pytest
from pyspark.sql import SparkSession

from pipeline.lake import Lake
from pipeline.lake.ledger.run_record import RunRecord
from pipeline.lake.ledger.run_store import last_runs, last_verifications, runs_since
from pipeline.settings import Settings
from pipeline.verify import comparison_record
from pipeline.verify.against import Comparison, KeyDifference, NotCompared, TableDifference
from pipeline.verify.comparison_record import keep_record
from pipeline.verify.report import Verification
from tests.support.observe.captured_log import captured_log
from tests.support.spark.no_spark import NEVER_STARTED

BEGAN = datetime.now(timezone.utc) - timedelta(seconds=5)
EQUAL = Comparison("db:3306", "gtid 1-9", "", 2, (), ("shop.t is MyISAM.",))
SECRET_ROW = KeyDifference(("4711 card number",), "different", 1, 1)
DIFFERENT = TableDifference("shop", "t", "gold has 2 rows, the server 3.", 1, (SECRET_ROW,))


class _Spark:
    """A session of which only the version is asked."""

    version = "4.2.0"


@pytest.fixture
def by_delta_rs(monkeypatch: pytest.MonkeyPatch) -> None:
    """Append records without Spark."""
    append = comparison_record.append_run

    def append_run(_spark: object, lake: Lake, record: RunRecord) -> None:
        append(NEVER_STARTED, lake, record)

    monkeypatch.setattr(comparison_record, "append_run", append_run)


def kept(folder: Path, against: Comparison | None) -> dict[str, RunRecord]:
    settings = Settings(source="shop", lake=str(folder))
    found = Verification(settings.lake, "shop", 7, None, (), against)
    keep_record(cast(SparkSession, _Spark()), settings, found, BEGAN)
    return last_verifications(NEVER_STARTED, settings.layout)


@pytest.mark.parametrize(
    ("against", "outcome", "faults"),
    [
        (EQUAL, "done", []),
        (
            replace(EQUAL, differences=(DIFFERENT,)),
            "faults",
            ["shop.t differs: gold has 2 rows, the server 3."],
        ),
        (
            replace(EQUAL, not_compared=(NotCompared("shop.u", "it was locked."),)),
            "faults",
            ["shop.u was not compared: it was locked."],
        ),
        (
            replace(EQUAL, position="gold lacks 3 transactions.", compared=0),
            "faults",
            [
                "The server was not at the same position: gold lacks 3 transactions.",
                "No table was compared.",
            ],
        ),
    ],
)
@pytest.mark.usefixtures("by_delta_rs")
def test_a_comparison_leaves_a_record_without_values_of_rows(
    tmp_path: Path, against: Comparison, outcome: str, faults: list[str]
) -> None:
    record = kept(tmp_path, against)["shop"]
    assert (record.command, record.layers, record.outcome) == ("verify", ("verify",), outcome)
    assert record.exit_code == (0 if outcome == "done" else 3)
    assert [fault.sentence for fault in record.faults] == faults
    assert record.notes[0].sentence.endswith("tables compared with db:3306 at LSN 7.")
    assert record.seconds >= 5
    assert "4711" not in record.to_json()
    # It published nothing, and looked for no changes.
    assert (record.cut_lsn, record.lag_seconds) == (None, None)
    assert last_runs(NEVER_STARTED, Lake(str(tmp_path))) == []


def test_checksums_that_are_compared_with_nothing_leave_none(tmp_path: Path) -> None:
    assert kept(tmp_path, None) == {}
    assert list(tmp_path.iterdir()) == []


def test_a_record_that_cannot_be_written_is_a_warning(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fails(*_: Any) -> None:
        raise PermissionError("read-only")

    monkeypatch.setattr(comparison_record, "append_run", fails)
    with captured_log() as lines:
        assert kept(tmp_path, EQUAL) == {}
    (line,) = lines.of("record_not_written")
    assert "read-only" in line["message"]


@pytest.mark.usefixtures("by_delta_rs")
def test_runs_since_a_day_count_their_sentences_and_do_not_read_them(tmp_path: Path) -> None:
    kept(tmp_path, replace(EQUAL, differences=(DIFFERENT,)))
    # Of two days: midnight may have passed since it began.
    (run,) = runs_since(NEVER_STARTED, Lake(str(tmp_path)), 2)
    assert (run.fault_count, run.faults) == (1, ())
    assert runs_since(NEVER_STARTED, Lake(str(tmp_path)), 2, source="erp") == []
