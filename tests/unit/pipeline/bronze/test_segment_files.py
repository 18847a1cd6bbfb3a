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
from pipeline.bronze import ingest, rows
from pipeline.bronze.ingest import stretches_of, write_all
from pipeline.bronze.plan import FilePlan
from pipeline.bronze.rows import Stretch, segment_batches
from pipeline.bronze.scan import ScanTask, scan_all
from pipeline.bronze.segment_files import Written, write_segments
from pipeline.bronze.tables import SEGMENTS, segments_table
from pipeline.engine import Engine, LocalEngine, SparkEngine
from pipeline.lake import Lake
from pipeline.lake_tables.native import NativeTables
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
    written = write_all(engine, table.reference, table, stretches, QuietProgress().task(""))
    return [scans, *map(described, written)]


def described(written: Written) -> tuple[Any, ...]:
    files = [
        (hashlib.sha256(Path(file.folder, file.name).read_bytes()).digest(), replace(file, name=""))
        for file in written.files
    ]
    return [(digest, replace(file, folder="")) for digest, file in files], written.rest


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
    monkeypatch.setattr(ingest, "TASK_BYTES", 1_200_000)
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
    ("sizes", "groups"),
    [
        ([3, 3, 3], [2, 1]),  # 8 MiB to a row group
        ([1, 16, 1, 1], [1, 1, 2]),  # a large one stands alone
        ([8, 8], [1, 1]),
        ([20], [1]),
    ],
)
def test_a_row_group_has_about_eight_mib_or_one_large_segment(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, sizes: list[int], groups: list[int]
) -> None:
    made_of(monkeypatch, sizes)
    batches = [len(batch) for batch in segment_batches([stretch()])]
    assert batches == groups
    (file,) = write_segments(str(tmp_path), segments_table(Lake("/lake")), [stretch()]).files
    read = pq.ParquetFile(tmp_path / file.name)
    found = [read.metadata.row_group(index).num_rows for index in range(read.num_row_groups)]
    assert found == groups


@pytest.mark.parametrize(
    ("sizes", "files", "rest"),
    [
        ([0.5], [], 1),  # less than a MiB: the driver writes it
        ([0.5, 9], [1], 1),
        ([60, 60, 60], [2, 1], 0),  # not above 128 MiB
        ([100, 40, 0.5], [1, 2], 0),
        ([100, 27.9, 0.5], [2], 1),
    ],
)
def test_a_task_writes_files_of_at_most_128_mib_and_gives_crumbs_back(
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    sizes: list[float],
    files: list[int],
    rest: int,
) -> None:
    made_of(monkeypatch, sizes)
    written = write_segments(str(tmp_path), segments_table(Lake("/lake")), [stretch()])
    assert [file.rows for file in written.files] == files
    assert (len(written.rest) if written.rest is not None else 0) == rest
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
