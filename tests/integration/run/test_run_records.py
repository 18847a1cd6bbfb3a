"""Records of runs: done, nothing new, with faults, failed; and how the command line prints them."""

from __future__ import annotations

import json
import re
import shutil
from dataclasses import replace
from datetime import datetime, timedelta, timezone
from pathlib import Path
from typing import Any
from uuid import UUID

import pyarrow as pa
import pytest
from deltalake import DeltaTable
from prometheus_client.parser import text_fd_to_metric_families
from pyspark.sql import SparkSession, functions as sf
from typer.testing import CliRunner

from pipeline.cli.app import app
from pipeline.errors import SettingsError
from pipeline.lake import Lake, Ledger, delta
from pipeline.lake.ledger.run_record import RecordedBatch, RunRecord
from pipeline.lake.ledger.run_store import append_run, read_runs
from pipeline.maintenance import run as look
from pipeline.observe.progress import QuietProgress
from pipeline.run import run_command
from pipeline.run.page.attention import attention
from pipeline.run.page.document import document
from pipeline.run.page.lake_page import read_page
from pipeline.settings import Settings
from tests.support.lake.kills import Killed
from tests.support.observe.captured_log import captured_log

ROOT = Path(__file__).parents[3]
DEMO = ROOT / "demo" / "binlogs"
TABLE = "shop.orders"


class Source:
    """A folder of binlogs and a lake, and commands on them."""

    def __init__(self, spark: SparkSession, folder: Path) -> None:
        self.spark = spark
        self.lake = Lake(str(folder / "lake"))
        self.binlogs = folder / "binlogs"
        self.binlogs.mkdir()
        self.metrics, self.lineage = folder / "binlake.prom", folder / "events.ndjson"

    def put(self, number: int) -> Path:
        """Copy one of the demo's binlogs to the folder."""
        return Path(shutil.copy(DEMO / f"binlog.{number:06}", self.binlogs))

    def run(self, command: str = "run", **options: Any) -> None:
        """Run `binlake COMMAND`."""
        place = {"binlogs": str(self.binlogs), "lake": self.lake.root, "include": [TABLE]}
        monitoring = {
            "metrics": {"textfile": str(self.metrics)},
            "lineage": {"openlineage": str(self.lineage)},
            "server": {"host": "db-1"},
        }
        settings = Settings.load(None, source="shop", **place, **monitoring, **options)
        with captured_log():
            run_command(self.spark, settings, QuietProgress(), command)

    def last(self) -> RunRecord:
        """Return the record of the last run."""
        return read_runs(self.spark, self.lake, last=1)[0]

    def commits(self) -> int:
        """Return the number of Delta commits in the lake."""
        return len(list(Path(self.lake.root).rglob("_delta_log/*.json")))


def killed(*_: object, **__: object) -> None:
    raise Killed


def test_every_run_leaves_a_record_of_what_it_did(
    spark: SparkSession, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    source = Source(spark, tmp_path)
    source.put(1)
    monkeypatch.setattr("pipeline.silver.job.carry_out", killed)
    with pytest.raises(Killed):
        source.run()
    monkeypatch.undo()
    assert read_runs(spark, source.lake) == []

    began = datetime.now(timezone.utc)
    source.run()
    taken_up = source.last()
    assert (taken_up.outcome, taken_up.exit_code, taken_up.command) == ("done", 0, "run")
    bronze, silver = Ledger(spark, source.lake, "shop").history()[1:3]
    assert (bronze.layer, silver.layer, silver.state) == ("bronze", "silver", "planned")
    assert [(b.layer, b.batch, b.planned_by) for b in taken_up.batches] == [
        *(("silver", 1, silver.run_id), ("gold", 1, None)),
    ]
    # The killed run's bronze batch is in the ledger under its id.
    assert (bronze.run_id, taken_up.bytes) == (silver.run_id, 0)
    changes = delta.read(spark, source.lake.changes("shop", "orders", 1)).count()
    assert changes > 0
    assert taken_up.rows_decoded_by_table == taken_up.rows_applied_by_table == {TABLE: changes}
    assert taken_up.transactions > 0
    cut = delta.read(spark, source.lake.cuts).select("lsn", sf.unix_micros("committed_at")).first()
    assert cut is not None
    committed_at = datetime.fromtimestamp(cut[1] / 1_000_000, timezone.utc)
    assert (taken_up.cut_lsn, taken_up.cut_committed_at) == (cut[0], committed_at)
    assert taken_up.published_at is not None
    assert began < taken_up.published_at < taken_up.finished_at
    assert taken_up.lag_seconds == (taken_up.published_at - committed_at).total_seconds()
    assert taken_up.spark_version == spark.version

    figures = metrics(source)
    assert figures["binlake_published_timestamp_seconds"] == taken_up.published_at.timestamp()
    assert figures["binlake_lag_seconds"] == taken_up.lag_seconds
    assert figures["binlake_applied_rows"] == changes
    assert (figures["binlake_tables"], figures["binlake_held_tables"]) == (1, 0)
    check_lineage(source, taken_up)

    commits = source.commits()
    source.run()
    empty = source.last()
    assert (empty.outcome, empty.exit_code, empty.batches) == ("nothing_new", 0, ())
    assert (empty.rows_applied, empty.lag_seconds, empty.fault_count) == (0, None, 0)
    assert empty.newest_file == "binlog.000001"
    published = {name: value for name, value in figures.items() if "published" in name}
    assert published
    assert published.items() <= metrics(source).items()
    assert source.commits() == commits + 1

    source.put(3)
    source.run("ingest")
    gap = source.last()
    assert (gap.outcome, gap.exit_code, gap.layers) == ("faults", 3, ("bronze",))
    assert (gap.gap_count, gap.gaps[0].layer) == (1, "bronze")
    assert "binlog.000001 and binlog.000003" in gap.gaps[0].sentence
    assert (gap.files, gap.bytes) == (1, (DEMO / "binlog.000003").stat().st_size)
    events = delta.read(spark, source.lake.segments).where("file = 'binlog.000003'")
    by_type = events.select(sf.explode("events")).groupBy("key").agg(sf.sum("value")).collect()
    assert gap.events_by_type == dict(map(tuple, by_type))
    assert gap.lag_seconds is None
    assert metrics(source)["binlake_layer_gaps"] == 1
    assert published.items() <= metrics(source).items()

    source.put(4)
    with pytest.raises(SettingsError):
        source.run(types={"time": "micros"})
    failed = source.last()
    assert (failed.outcome, failed.exit_code, failed.error_type) == ("failed", 2, "SettingsError")
    assert "were created with text" in (failed.error or "")
    assert [batch.layer for batch in failed.batches] == ["bronze"]
    assert (list(failed.layer_seconds), failed.gap_count) == (["bronze"], 1)

    records = read_runs(spark, source.lake)
    assert [r.run_id for r in records] == [r.run_id for r in (failed, gap, empty, taken_up)]
    printed = [json.loads(line) for line in binlake(source, "runs", "--json").splitlines()]
    assert [line["run_id"] for line in printed] == [record.run_id for record in records]
    assert printed[1]["events_by_type"] == gap.events_by_type
    assert "failed (2)" in binlake(source, "runs", "--last", "1", "--source", "shop")

    status = json.loads(binlake(source, "status", "--json"))
    (source_status,) = status["sources"]
    assert source_status["lag_seconds"] == taken_up.lag_seconds
    assert source_status["age_seconds"] > taken_up.lag_seconds
    assert source_status["last_run"]["run_id"] == failed.run_id
    assert (status["tables"][0]["table"], status["layers"][0]["batch"]) == ("orders", 3)

    check_page(source, records)

    answers = [spark.sql(query.replace("/data/lake", source.lake.root)) for query in documented()]
    per_hour, lag, tables, problems, lost = [answer.collect() for answer in answers]
    assert sum(row["rows"] for row in per_hour) == changes
    assert [row["lag_seconds"] for row in lag] == [taken_up.lag_seconds]
    assert [(row["table"], row["rows"]) for row in tables] == [(TABLE, changes)]
    assert [row["outcome"] for row in problems] == ["failed", "faults"]
    assert [row["run_id"] for row in lost] == [silver.run_id]

    # An old record is removed by maintenance, not by a run.
    old = replace(empty, run_id="old", started_at=began - timedelta(days=3))
    append_run(spark, source.lake, old)
    source.run("apply", keep_runs=2)
    kept = [source.last().run_id, *(record.run_id for record in records)]
    assert [r.run_id for r in read_runs(spark, source.lake)] == [*kept, "old"]
    settings = Settings.load(None, source="shop", lake=source.lake.root, keep_runs=2)
    preview = look(spark, settings, QuietProgress(), dry_run=True)
    assert "ledger/runs: remove 1 rows" in preview.notes
    source.run("maintain", keep_runs=2)
    maintained = source.last()
    assert (maintained.command, maintained.layers) == ("maintain", ("maintenance",))
    assert (maintained.outcome, maintained.batches) == ("done", (RecordedBatch("maintenance", 1),))
    assert [r.run_id for r in read_runs(spark, source.lake)] == [maintained.run_id, *kept]
    (source_status,) = json.loads(binlake(source, "status", "--json"))["sources"]
    assert source_status["last_run"]["run_id"] == kept[0]
    # The batch of maintenance is of a run that has ended.
    killed_runs = spark.sql(documented()[-1].replace("/data/lake", source.lake.root))
    assert [row["run_id"] for row in killed_runs.collect()] == [silver.run_id]


def metrics(source: Source) -> dict[str, float]:
    """Return the values in the textfile; of those by layer, bronze's."""
    with source.metrics.open() as lines:
        return {
            sample.name: sample.value
            for family in text_fd_to_metric_families(lines)
            for sample in family.samples
            if sample.labels.get("layer") in (None, "bronze")
        }


def check_lineage(source: Source, run: RunRecord) -> None:
    """Check the events of a run that decoded and applied the only table."""
    events = [json.loads(line) for line in source.lineage.read_text().splitlines()]
    last = {(e["job"]["name"], e["eventType"]): e for e in events}
    silver, gold = (last[f"shop.{layer}", "COMPLETE"] for layer in ("silver", "gold"))
    assert gold["run"]["facets"]["parent"]["run"]["runId"] == str(UUID(run.run_id))
    path = Path(source.lake.root, "silver/changes/shop/orders/v1")
    places = [(each["namespace"], each["name"]) for each in silver["inputs"] + silver["outputs"]]
    assert places == [
        ("file", source.lake.segments),
        ("mysql://db-1:3306", TABLE),
        ("file", source.lake.transactions),
        ("file", str(path)),
    ]
    (_, changes), (_, orders) = silver["outputs"], gold["outputs"]
    assert gold["inputs"][1]["name"] == changes["name"]
    assert orders["name"] == source.lake.gold("shop", "orders")
    rows = {"rowCount": run.rows_applied}
    assert rows.items() <= changes["outputFacets"]["outputStatistics"].items()
    written = orders["outputFacets"]["outputStatistics"]
    assert rows.items() <= written.items()
    table = DeltaTable(orders["name"])
    assert (written["fileCount"], written["size"]) == stored(table)
    assert orders["facets"]["version"]["datasetVersion"] == str(table.version())
    names = [field["name"] for field in orders["facets"]["schema"]["fields"]]
    assert names == [field.name for field in table.schema().fields]
    # By name, from the source's table to gold.
    origins = orders["facets"]["columnLineage"]["fields"]
    assert sorted(origins) == sorted(names)
    image, column = origins["id"]["inputFields"][0]["field"].split(".")
    (origin,) = changes["facets"]["columnLineage"]["fields"][f"{image}.{column}"]["inputFields"]
    assert (origin["namespace"], origin["name"], origin["field"]) == (
        *("mysql://db-1:3306", TABLE, "id"),
    )


def check_page(source: Source, records: list[RunRecord]) -> None:
    """Check the page of a lake after these runs, of which the last failed and the one before it
    reported a gap."""
    settings = Settings.load(None, lake=source.lake.root)
    page = read_page(source.spark, settings, QuietProgress(), days=30)
    shown = [(run.run_id, run.outcome, run.rows_applied) for run in page.runs]
    assert shown == [(run.run_id, run.outcome, run.rows_applied) for run in records]
    sizes = {one.name: (one.files, one.bytes) for one in page.sizes if one.layer == "gold"}
    gold = DeltaTable(source.lake.gold("shop", "orders"))
    assert sizes["gold/shop/orders"] == stored(gold)
    assert [(str(table.name), table.state) for table in page.status.tables] == [(TABLE, "equal")]
    problems = [item.sentence for item in attention(page.status).problems]
    assert any("binlog.000001 and binlog.000003" in problem for problem in problems)
    assert any(str(records[0].error) in problem for problem in problems)
    html = document(page)
    assert "runs in 30 days, 2 with a failure or fault" in html
    assert "gold/shop/orders" in html


def stored(table: DeltaTable) -> tuple[int, int]:
    """Return the number of a table's files, and their size in bytes, by its Delta log."""
    sizes = pa.table(table.get_add_actions()).column("size_bytes").to_pylist()
    return len(sizes), sum(sizes)


def documented() -> list[str]:
    """Return the queries of docs/guides/monitoring.md."""
    guide = ROOT / "docs" / "guides" / "monitoring.md"
    return re.findall(r"```sql\n(.+?)```", guide.read_text(), re.DOTALL)


def binlake(source: Source, *command: str) -> str:
    """Return what a command prints."""
    environment = {"COLUMNS": "200"}
    done = CliRunner().invoke(app, [*command, "--lake", source.lake.root], env=environment)
    assert done.exit_code == 0, done.output
    return done.stdout
