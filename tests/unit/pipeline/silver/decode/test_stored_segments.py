"""Read segments from bronze's data files: in order, wherever they are stored."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from pipeline.bronze.tables import SEGMENTS
from pipeline.errors import ConcurrentRunError
from pipeline.silver.decode.decode import SEGMENT_COLUMNS
from pipeline.silver.decode.segment_refs import FilePosition
from pipeline.silver.decode.segment_tasks import StoredSegments


def row(ordinal: int, start: int, part: int = 0, **columns: Any) -> dict[str, Any]:
    return {
        **dict.fromkeys(SEGMENTS.names),
        "source": "shop",
        "file": f"binlog.{ordinal:06}",
        "ordinal": ordinal,
        "start_pos": start,
        "part": part,
        "content": f"{ordinal} {start} {part}".encode(),
        **columns,
    }


def stored(folder: Path, *files: list[list[dict[str, Any]]]) -> tuple[str, ...]:
    """Write files of row groups."""
    paths = []
    for number, groups in enumerate(files):
        paths.append(str(folder / f"{number}.parquet"))
        with pq.ParquetWriter(paths[-1], SEGMENTS) as writer:
            for group in groups:
                writer.write_table(pa.Table.from_pylist(group, schema=SEGMENTS))
    return tuple(paths)


def texts(files: tuple[str, ...], *places: FilePosition) -> list[str]:
    batches = list(StoredSegments("shop", places, files).rows())
    assert all(batch.num_rows == 1 for batch in batches)
    assert all(batch.schema.names == list(SEGMENT_COLUMNS) for batch in batches)
    return [batch.column("content")[0].as_py().decode() for batch in batches]


@pytest.fixture(scope="module")
def files(tmp_path_factory: pytest.TempPathFactory) -> tuple[str, ...]:
    """Files as bronze writes them, and as maintenance may: parts in no order, in several files."""
    return stored(
        tmp_path_factory.mktemp("bronze"),
        [[row(1, 0), row(1, 100)], [row(1, 200), row(1, 300, incomplete=True)]],
        [[row(2, 0, 2), row(2, 0, 0), row(3, 0)], [row(2, 0, 1)]],
        [[row(1, 0, source="other"), row(4, 0, 1)]],
        [[row(4, 0, 0)]],
    )


@pytest.mark.parametrize(
    ("places", "found"),
    [
        ([(1, 0), (1, 100), (1, 200)], ["1 0 0", "1 100 0", "1 200 0"]),
        ([(1, 100)], ["1 100 0"]),
        ([(1, 200), (1, 0)], ["1 0 0", "1 200 0"]),
        ([(2, 0), (3, 0)], ["2 0 0", "2 0 1", "2 0 2", "3 0 0"]),
        ([(4, 0)], ["4 0 0", "4 0 1"]),
        ([(1, 300)], []),
    ],
    ids=["a run", "one", "apart", "parts in no order", "parts in two files", "never finished"],
)
def test_parts_are_read_in_order(
    files: tuple[str, ...], places: list[FilePosition], found: list[str]
) -> None:
    assert texts(files, *places) == found


def test_a_task_opens_few_files_at_once(tmp_path: Path) -> None:
    paths = stored(tmp_path, *([[row(n, 0)]] for n in range(1, 40)))
    rows = StoredSegments("shop", tuple((n, 0) for n in range(1, 40)), paths).rows()
    most = 0
    for _ in rows:
        held = [link for link in Path("/proc/self/fd").iterdir() if link.exists()]
        most = max(most, sum(str(tmp_path) in str(link.readlink()) for link in held))
    assert 0 < most <= 2


def test_a_missing_segment_is_an_error(
    files: tuple[str, ...],
) -> None:
    with pytest.raises(ConcurrentRunError, match="file number 1 of shop from byte 500 on"):
        texts(files, (1, 0), (1, 500))
