"""Bronze's files are the same on either engine, with any number of tasks."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from pyspark.sql import SparkSession

from pipeline.bronze.batch_plan import BronzePlan, FilePlan
from pipeline.bronze.ingest import TARGET, planned_segments, write_all
from pipeline.bronze.scan import ScanTask, scan_all
from pipeline.bronze.tables import segments_table
from pipeline.lake import Lake, dealing
from pipeline.lake.files.target_writer import Written
from pipeline.lake.tables.native import NativeTables
from pipeline.observe.progress import QuietProgress
from pipeline.spark.engine import Engine, LocalEngine, SparkEngine
from tests.support.bronze.bronze_input import FILES, Bronze
from tests.support.bronze.bronze_rows import file_row
from tests.support.decoder.archives import pack


def scan_tasks(files: Sequence[Path]) -> list[ScanTask]:
    return [
        ScanTask(str(file), file.name, None, None, True, 40_000, 90_000, codec=codec_of(file))
        for file in files
    ]


def codec_of(file: Path) -> str | None:
    return "zstd" if file.suffix == ".zst" else None


def written_by(engine: Engine, folder: Path, files: Sequence[Path]) -> list[Any]:
    """The scans, and the files and remaining rows of the tasks, without file names."""
    scans = scan_all(engine, scan_tasks(files))
    plans = []
    for index, file in enumerate(files):
        row = file_row(file.name, index, path=str(file))
        plans.append(FilePlan(row, scans[index].segments, False, False, codec_of(file)))
    segments = planned_segments(BronzePlan(plans, 40_000, 90_000), 1, {})
    table = segments_table(Lake(str(folder)))
    with QuietProgress().task("") as task:
        written = write_all(engine, table.reference, table, segments, task)
    return [scans, *map(described, written)]


def described(written: Written) -> tuple[Any, ...]:
    files = [
        (hashlib.sha256(Path(file.folder, file.name).read_bytes()).digest(), replace(file, name=""))
        for file in written.files.get(TARGET, ())
    ]
    return [(digest, replace(file, folder="")) for digest, file in files], written.rest.get(TARGET)


@pytest.fixture
def files(tmp_path: Path) -> list[Path]:
    """Each recorded file several times, some of them compressed."""
    found = []
    for copy in range(3):
        for file in FILES:
            found.append(tmp_path / f"{file.name}.{copy}")
            found[-1].write_bytes(file.read_bytes())
    found.append(tmp_path / "packed.zst")
    found[-1].write_bytes(pack("zstd", FILES[1].read_bytes()))
    return found


def test_threads_and_sparks_workers_write_the_same_bytes(
    spark: SparkSession, files: list[Path], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(dealing, "MOST_BYTES", 1_200_000)
    by_spark = written_by(SparkEngine(spark), tmp_path / "spark", files)
    one_by_one = written_by(LocalEngine(1), tmp_path / "one", files)
    assert len(one_by_one) > 3
    assert any(found for found, _ in one_by_one[1:])
    assert one_by_one[-1][1] is not None  # a remainder
    assert by_spark == one_by_one
    for round_ in range(3):
        assert written_by(LocalEngine(8), tmp_path / f"many{round_}", files) == one_by_one


def test_both_engines_write_the_same_lake(spark: SparkSession, tmp_path: Path) -> None:
    found = []
    for engine in ("local", "spark"):
        bronze = Bronze(spark, tmp_path / engine)
        bronze.settings = bronze.settings.model_copy(update={"engine": engine})
        for file in FILES:
            bronze.put(file)
        report = bronze.run()
        assert bronze.holds(*FILES)
        segments = NativeTables(bronze.lake).read(segments_table(bronze.lake))
        key = [(name, "ascending") for name in ("ordinal", "start_pos", "part")]
        found.append((report.counts, segments.sort_by(key)))
    assert found[0] == found[1]
