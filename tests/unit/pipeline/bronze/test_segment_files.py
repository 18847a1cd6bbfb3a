"""Files written by one of bronze's tasks, and rows left to the driver."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq
import pytest

from decoder.framing.large_event import Checkpoint
from decoder.segments.segment_bounds import SegmentBounds
from pipeline.bronze import ingest
from pipeline.bronze.ingest import TARGET, PlannedSegment, write_segments
from pipeline.bronze.tables import SEGMENTS, segments_table
from pipeline.lake import Lake
from tests.support.bronze.bronze_rows import file_row

MIB = 1 << 20


@pytest.mark.parametrize(
    ("sizes", "groups", "rest"),
    [
        ([7, 7, 7], [3], 0),  # 16 MiB to a row group
        ([20, 1, 1], [1, 2], 0),
        ([0.25, 0.5], [], 2),  # less than a MiB: the driver writes it
        ([16, 0.5], [1, 1], 0),
    ],
)
def test_a_task_writes_row_groups_of_16_mib_and_returns_small_rests(
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    sizes: list[float],
    groups: list[int],
    rest: int,
) -> None:
    made_of(monkeypatch, sizes)
    written = write_segments(str(tmp_path), segments_table(Lake("/lake")), [segment()])
    files = written.files.get(TARGET, [])
    read = [pq.ParquetFile(tmp_path / file.name).metadata for file in files]
    assert [one.row_group(n).num_rows for one in read for n in range(one.num_row_groups)] == groups
    assert len(written.rest.get(TARGET, ())) == rest
    assert len(list(tmp_path.iterdir())) == len(files)


def segment() -> PlannedSegment:
    return PlannedSegment(
        file_row("log", 1),
        SegmentBounds(Checkpoint(0, 0), Checkpoint(1, 0), None, b""),
        False,
        None,
        1,
    )


def made_of(monkeypatch: pytest.MonkeyPatch, sizes: Sequence[float]) -> None:
    """Make a segment's rows have the given sizes in MiB."""

    def made(segments: Sequence[PlannedSegment]) -> Iterator[dict[str, Any]]:
        for index, size in enumerate(sizes):
            values = dict.fromkeys(SEGMENTS.names)
            yield {**values, "start_pos": index, "content": bytes(int(size * MIB))}

    monkeypatch.setattr(ingest, "_rows_of_file", made)


def test_a_failed_task_raises_its_error(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    made_of(monkeypatch, [9])
    made = ingest._rows_of_file

    def failing(segments: Sequence[PlannedSegment]) -> Iterator[dict[str, Any]]:
        yield from made(segments)
        raise OSError("the store is gone")

    monkeypatch.setattr(ingest, "_rows_of_file", failing)
    with pytest.raises(OSError, match="the store is gone"):
        write_segments(str(tmp_path), segments_table(Lake("/lake")), [segment()])
