"""Silver is the same however its tasks run: in this process, on Spark, or fed by Spark."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any, Literal

import pyarrow as pa
import pytest
from pyspark.sql import SparkSession

from decoder import Segmenter, TableDefinition
from pipeline.bronze.tables import SEGMENTS, segments_table
from pipeline.lake import Lake, dealing
from pipeline.lake.delta_step import Step
from pipeline.lake.files.target_writer import Written
from pipeline.lake.tables.by_spark import SparkTables
from pipeline.lake.tables.native import NativeTables
from pipeline.layer import LayerRun
from pipeline.observe.progress import QuietProgress
from pipeline.settings import Settings
from pipeline.silver.carry_out import destinations, targets_of
from pipeline.silver.decode import segment_tasks
from pipeline.silver.decode.decode import TRANSACTIONS, Decode
from pipeline.silver.decode.segment_refs import SegmentRef, between
from pipeline.silver.decode.segment_tasks import results
from pipeline.silver.decode.task_output import DecodeAndWrite, rows_of as decoded_rows, together
from pipeline.silver.plan.batch_plan import SilverPlan, planned_tables
from pipeline.silver.plan.survey import find

DATA = Path(__file__).parents[3] / "data"
LOGS = ("plain", "statements")
SOURCE = "shop"


def rows_of(name: str, ordinal: int) -> list[dict[str, Any]]:
    """Return a recording as bronze stores it: in small segments, of two parts each."""
    log = (DATA / f"{name}.binlog").read_bytes()
    segmenter = Segmenter(target=400, limit=400)
    segmenter.feed(log)
    segmenter.finish()
    rows = []
    for bounds in segmenter.segments:
        start, end = bounds.start.position, bounds.end.position
        middle = (start + end) // 2
        for part, (low, high) in enumerate(((start, middle), (middle, end))):
            known = {
                "source": SOURCE,
                "file": f"binlog.{ordinal:06}",
                "ordinal": ordinal,
                "start_pos": start,
                "end_pos": end,
                "part": part,
                "preamble": bounds.preamble,
                "content": log[low:high],
                "transaction_pos": bounds.transaction_pos,
                "transactions": 0 if part == 0 else None,
                "events": [],
            }
            rows.append({**dict.fromkeys(SEGMENTS.names), **known})
    return rows


@pytest.fixture(scope="module")
def lake(tmp_path_factory: pytest.TempPathFactory) -> Lake:
    lake = Lake(str(tmp_path_factory.mktemp("lake")))
    for ordinal, name in enumerate(LOGS, 1):
        rows = pa.Table.from_pylist(rows_of(name, ordinal), schema=SEGMENTS)
        NativeTables(lake).append(segments_table(lake), rows, Step("bronze", ordinal))
    return lake


def decoded(
    spark: SparkSession, settings: Settings, refs: list[SegmentRef], folder: Path
) -> tuple[Written, list[str]]:
    """Return a batch's output over these segments, and its targets."""
    run = LayerRun.begin(spark, settings, QuietProgress())
    found = find(run, refs)
    texts = sorted({row["content"] for row in found if row["kind"] == "definition"})
    planned = planned_tables((TableDefinition.from_json(text), 1) for text in texts)
    plan = SilverPlan((1, 0), (3, 0), 0, tables=planned)
    target = targets_of(run, plan, 1, f"{folder}/scratch")
    places = {
        name: replace(place, folder=f"{folder}/{name}")
        for name, place in destinations(target, str(folder)).items()
    }
    decode = Decode(settings.type_options, settings.wanted, plan.table_ids)
    task = DecodeAndWrite(decode, places, str(folder))
    tasks = results(run, "decode", refs, task)
    return together(tasks, places), [*places]


def texts(decoded: Written, target: str) -> list[str]:
    return sorted(str(row) for table in decoded_rows(decoded, target) for row in table.to_pylist())


@pytest.mark.parametrize("way", ["spark", "fed by spark"])
def test_silver_is_the_same_whoever_runs_its_tasks(
    spark: SparkSession, lake: Lake, tmp_path: Path, way: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(dealing, "LEAST_BYTES", 1000)
    refs = between(spark, lake, SOURCE, (1, 0), (3, 0))
    assert {ref.parts for ref in refs} == {2}

    def settings(engine: Literal["local", "spark"]) -> Settings:
        return Settings(source=SOURCE, lake=lake.root, engine=engine)

    here, targets = decoded(spark, settings("local"), refs, tmp_path / "here")
    if way == "fed by spark":
        monkeypatch.setattr(segment_tasks, "tables_of", SparkTables)
    there, same = decoded(spark, settings("spark"), refs, tmp_path / "there")
    assert targets == same
    assert here.counts == there.counts
    assert here.counts[TRANSACTIONS] > 3
    for target in targets:
        assert texts(here, target) == texts(there, target)
        assert len(texts(here, target)) >= here.counts.get(target, 0)
