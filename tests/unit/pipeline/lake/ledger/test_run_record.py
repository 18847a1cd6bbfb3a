"""Records of runs as rows and as JSON."""

from __future__ import annotations

import json
from datetime import datetime, timedelta, timezone

import pyarrow as pa

from pipeline.lake.ledger.run_record import RUNS, RecordedBatch, RunRecord, Sentence
from pipeline.lake.ledger.run_store import from_arrow, to_arrow

START = datetime(2026, 11, 22, 23, 59, 58, 250_000, timezone.utc)
RECORD = RunRecord(
    run_id="r1",
    source="shop",
    command="run",
    layers=("bronze", "silver"),
    started_at=START,
    finished_at=START + timedelta(seconds=4),
    outcome="failed",
    exit_code=1,
    layer_seconds={"bronze": 1.5},
    error="It was too much: ü.",
    error_type="OSError",
    retryable=False,
    batches=(RecordedBatch("bronze", 7), RecordedBatch("silver", 3, "r0")),
    files=1,
    bytes=2,
    segments=3,
    events_by_type={"QUERY": 2, "XID": 5},
    rows_decoded_by_table={"shop.cups": 4, "shop.pots": 5},
    rows_applied_by_table={"shop.cups": 4},
    cut_lsn=1 << 41,
    cut_committed_at=START - timedelta(hours=1),
    published_at=START + timedelta(seconds=3),
    fault_count=2,
    faults=(Sentence("bronze", "It is damaged."),),
    spark_version="4.2.0",
    host="here",
)


def test_a_record_survives_a_round_trip() -> None:
    assert from_arrow(to_arrow(RECORD)) == [RECORD]


def test_sums_are_columns_of_their_own() -> None:
    (row,) = to_arrow(RECORD).to_pylist()
    assert (row["events"], row["rows_decoded"], row["rows_applied"]) == (7, 9, 4)
    assert (row["seconds"], row["lag_seconds"]) == (4.0, 3603.0)
    assert row["day"].isoformat() == "2026-11-22"


def test_json_is_one_line_with_every_column() -> None:
    line = RECORD.to_json()
    assert "\n" not in line
    assert "ü" in line
    values = json.loads(line)
    assert list(values) == RUNS.names
    assert values["started_at"] == "2026-11-22T23:59:58.250000+00:00"
    assert values["rows_decoded_by_table"] == {"shop.cups": 4, "shop.pots": 5}
    assert values["batches"][1] == {"layer": "silver", "batch": 3, "planned_by": "r0"}


def test_a_log_line_has_only_scalar_values() -> None:
    figures = RECORD.figures()
    assert figures["lag_seconds"] == 3603.0
    assert not [value for value in figures.values() if isinstance(value, dict | list | tuple)]


def test_columns_have_one_type_in_arrow_and_in_the_record() -> None:
    assert set(RunRecord.__dataclass_fields__) < set(RUNS.names)
    assert RUNS.field("lag_seconds").type == pa.float64()
