"""Bronze's files are the same whichever way their tasks run, and however many at once."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq
import pytest
from pyspark.sql import SparkSession

from decoder.large_event import Mark
from decoder.segments import Cut
from pipeline import dealing
from pipeline.bronze import rows
from pipeline.bronze.ingest import SEGMENTS as TARGET, stretches_of, write_all, write_segments
from pipeline.bronze.plan import FilePlan
from pipeline.bronze.rows import Stretch
from pipeline.bronze.scan import ScanTask, scan_all
from pipeline.bronze.tables import SEGMENTS, segments_table
from pipeline.engine import Engine, LocalEngine, SparkEngine
from pipeline.lake import Lake
from pipeline.lake_tables.native import NativeTables
from pipeline.lake_tables.target_writer import Written
from pipeline.progress import QuietProgress
from tests.support.archives import pack
from tests.support.bronze_input import FILES, Bronze
from tests.support.bronze_rows import file_row

MIB = 1 << 20


def scan_tasks(files: Sequence[Path]) -> list[ScanTask]:
    return [
        ScanTask(str(file), file.name, None, None, True, 40_000, 90_000, codec=codec_of(file))
        for file in files
    ]


def codec_of(file: Path) -> str | None:
    return "zstd" if file.suffix == ".zst" else None


def written_by(engine: Engine, folder: Path, files: Sequence[Path]) -> list[Any]:
    """What the scans say, and the files and remainders that tasks leave, without files' names."""
    scans = scan_all(engine, scan_tasks(files))
    plans = []
    for index, file in enumerate(files):
        row = file_row(file.name, index, path=str(file))
        plans.append(FilePlan(row, scans[index].cuts, False, False, codec_of(file)))
    stretches = stretches_of(plans, 1, 90_000, 40_000, {})
    table = segments_table(Lake(str(folder)))
    with QuietProgress().task("") as task:
        written = write_all(engine, table.reference, table, stretches, task)
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


def test_a_lake_is_the_same_from_both(spark: SparkSession, tmp_path: Path) -> None:
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


@pytest.mark.parametrize(
    ("sizes", "groups", "rest"),
    [
        ([7, 7, 7], [3], 0),  # 16 MiB to a row group
        ([20, 1, 1], [1, 2], 0),
        ([0.25, 0.5], [], 2),  # less than a MiB: the driver writes it
        ([16, 0.5], [1, 1], 0),
    ],
)
def test_a_task_writes_row_groups_of_16_mib_and_gives_crumbs_back(
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    sizes: list[float],
    groups: list[int],
    rest: int,
) -> None:
    made_of(monkeypatch, sizes)
    written = write_segments(str(tmp_path), segments_table(Lake("/lake")), [stretch()])
    files = written.files.get(TARGET, [])
    read = [pq.ParquetFile(tmp_path / file.name).metadata for file in files]
    assert [one.row_group(n).num_rows for one in read for n in range(one.num_row_groups)] == groups
    assert len(written.rest.get(TARGET, ())) == rest
    assert len(list(tmp_path.iterdir())) == len(files)


def stretch() -> Stretch:
    return Stretch(file_row("log", 1), Cut(Mark(0, 0), Mark(1, 0), None, b""), False, None, 1)


def made_of(monkeypatch: pytest.MonkeyPatch, sizes: Sequence[float]) -> None:
    """Have a stretch's rows be of so many MiB."""

    def made(stretches: Sequence[Stretch]) -> Iterator[dict[str, Any]]:
        for index, size in enumerate(sizes):
            values = dict.fromkeys(SEGMENTS.names)
            yield {**values, "start_pos": index, "content": bytes(int(size * MIB))}

    monkeypatch.setattr(rows, "_rows_of_file", made)


def test_a_failed_task_raises_what_it_met(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    made_of(monkeypatch, [9])
    made = rows._rows_of_file

    def failing(stretches: Sequence[Stretch]) -> Iterator[dict[str, Any]]:
        yield from made(stretches)
        raise OSError("the store is gone")

    monkeypatch.setattr(rows, "_rows_of_file", failing)
    with pytest.raises(OSError, match="the store is gone"):
        write_segments(str(tmp_path), segments_table(Lake("/lake")), [stretch()])
