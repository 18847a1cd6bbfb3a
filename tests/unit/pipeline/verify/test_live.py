"""Writing the rows of a snapshot to files of limited size, in order of chunks."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pyarrow.parquet as pq
import pytest

from pipeline.verify import live
from pipeline.verify.live import SCHEMA, staged_rows


def kept(folder: Path) -> list[list[tuple[Any, ...]]]:
    """Return the rows of each file."""
    tables = [pq.read_table(file) for file in sorted(folder.glob("*.parquet"))]
    assert all(table.schema.equals(SCHEMA) for table in tables)
    return [[tuple(row.values()) for row in table.to_pylist()] for table in tables]


@pytest.mark.parametrize("limit", ["PART_ROWS", "PART_BYTES"])
def test_files_are_limited_in_size_and_sorted(
    limit: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    # Keys take four bytes each.
    monkeypatch.setattr(live, limit, 40 if limit == "PART_BYTES" else 10)
    given = [(n // 12, 7 * n % 5, bytes([n]), f'"{n:02}"') for n in range(25)]
    with staged_rows(str(tmp_path)) as rows:
        for row in given:
            rows.keep(*row)
    found = kept(tmp_path)
    assert [len(part) for part in found] == [10, 10, 5]
    for part in found:
        chunks = [(number, chunk) for number, chunk, *_ in part]
        assert chunks == sorted(chunks)
    assert sorted(row for part in found for row in part) == sorted(given)


def test_an_empty_file_is_written_without_rows(tmp_path: Path) -> None:
    with staged_rows(str(tmp_path)):
        pass
    assert kept(tmp_path) == [[]]
