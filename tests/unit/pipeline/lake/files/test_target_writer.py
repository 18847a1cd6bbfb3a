"""Writing decoded rows to files of many tables: memory, files and returned rows."""

from __future__ import annotations

import os
import pickle
from collections.abc import Iterable
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from pipeline.lake.delta_log.model import LakeTable
from pipeline.lake.files.data_files import row_groups
from pipeline.lake.files.target_writer import Destination, Limits, TargetWriter, Written

SCHEMA = pa.schema([pa.field("__lsn", pa.int64())])
PLACED = pa.schema([pa.field("source", pa.string()), *SCHEMA])


def batch(values: Iterable[int]) -> pa.RecordBatch:
    return pa.RecordBatch.from_arrays([pa.array(values, pa.int64())], schema=SCHEMA)


def place(folder: Path, name: str) -> Destination:
    reference = f"{folder}/{name}"
    table = LakeTable(reference, PLACED, statistics=("__lsn",))
    return Destination(reference, table, {"source": "shop"})


def write(
    folder: Path, added: Iterable[tuple[str, pa.RecordBatch]], limits: Limits | None = None
) -> Written:
    """Write batches to targets; all but `other` have a destination."""
    found = list(added)
    destinations = {name: place(folder, name) for name, _ in found if name != "other"}
    with TargetWriter(destinations, limits) as writer:
        for name, rows in found:
            writer.add(name, rows)
        return writer.finish()


def values(written: Written, name: str) -> list[int]:
    """Return the values in files, then the returned ones."""
    tables = [rows for file in written.files.get(name, ()) for rows in row_groups(file)]
    tables += [written.rest[name]] if name in written.rest else []
    return [value for rows in tables for value in rows.column("__lsn").to_pylist()]


def test_few_rows_are_returned_without_a_file(tmp_path: Path) -> None:
    written = write(tmp_path, [("a", batch([1])), ("b", batch([2])), ("a", batch([3]))])
    assert (values(written, "a"), values(written, "b")) == ([1, 3], [2])
    assert written.rest["a"].schema == PLACED
    assert written.rest["a"].column("source").to_pylist() == ["shop"] * 2
    assert written.counts == {"a": 2, "b": 1}
    assert not list(tmp_path.iterdir())


def test_rows_without_a_destination_are_returned(tmp_path: Path) -> None:
    limits = Limits(group_rows=2, open_bytes=40, small=1, rest_bytes=1)
    written = write(tmp_path, [("other", batch(range(n, n + 4))) for n in (0, 4, 8)], limits)
    assert values(written, "other") == list(range(12))
    assert written.rest["other"].schema == SCHEMA
    assert not written.files


@pytest.mark.parametrize("limits", [Limits(group_rows=10), Limits(group_bytes=80)])
def test_row_groups_are_written_once_they_are_large_enough(tmp_path: Path, limits: Limits) -> None:
    written = write(tmp_path, [("a", batch(range(n, n + 5))) for n in range(0, 25, 5)], limits)
    (file,) = written.files["a"]
    groups = pq.ParquetFile(f"{file.folder}/{file.name}").metadata
    assert [groups.row_group(n).num_rows for n in range(groups.num_row_groups)] == [10, 10, 5]
    assert (file.rows, file.statistics["maxValues"]) == (25, {"__lsn": 24})
    assert values(written, "a") == list(range(25))
    assert not written.rest


def test_a_file_is_finished_when_it_is_large_enough(tmp_path: Path) -> None:
    limits = Limits(group_rows=1000, file_bytes=1000)
    written = write(tmp_path, [("a", batch(range(n, n + 1000))) for n in (0, 1000, 2000)], limits)
    assert [file.rows for file in written.files["a"]] == [1000] * 3
    assert values(written, "a") == list(range(3000))


def test_memory_is_bounded_without_opening_files(tmp_path: Path) -> None:
    """Twenty tables in turns: much more than fits into memory, and little of each."""
    limits = Limits(open_bytes=2000, group_bytes=10_000, small=10_000)
    added = [(f"t{n % 20}", batch(range(n * 10, n * 10 + 10))) for n in range(400)]
    writer = TargetWriter({f"t{n}": place(tmp_path, f"t{n}") for n in range(20)}, limits)
    with writer:
        for name, rows in added:
            writer.add(name, rows)
            assert writer.held <= limits.open_bytes
        assert not list(tmp_path.iterdir())
        written = writer.finish()
    for n in range(20):
        mine = [v for name, rows in added if name == f"t{n}" for v in rows.column(0).to_pylist()]
        assert values(written, f"t{n}") == mine


def test_row_groups_begin_with_spilled_rows(tmp_path: Path) -> None:
    limits = Limits(open_bytes=100, group_bytes=400, small=1)
    added = [(name, batch(range(n, n + 10))) for n in range(0, 100, 10) for name in ("a", "b")]
    written = write(tmp_path, added, limits)
    assert values(written, "a") == values(written, "b") == list(range(100))
    (file,) = written.files["a"]
    groups = pq.ParquetFile(f"{file.folder}/{file.name}").metadata
    assert [groups.row_group(n).num_rows for n in range(groups.num_row_groups)] == [50, 50]


def test_returned_rows_are_bounded_and_the_largest_are_written(tmp_path: Path) -> None:
    limits = Limits(small=1000, rest_bytes=100)
    added = [("a", batch(range(5))), ("b", batch(range(50))), ("c", batch(range(6)))]
    written = write(tmp_path, added, limits)
    assert (set(written.rest), set(written.files)) == ({"a", "c"}, {"b"})


def test_a_thousand_tables_open_few_files_and_leave_none(tmp_path: Path) -> None:
    names = [f"t{n}" for n in range(1000)]
    most = 0
    with TargetWriter({name: place(tmp_path, name) for name in names}) as writer:
        for turn in range(3):
            for name in names:
                writer.add(name, batch([turn]))
            most = max(most, sum(str(tmp_path) in link for link in _open_files()))
        written = writer.finish()
    assert most == 0
    assert not written.files
    assert {len(rows) for rows in written.rest.values()} == {3}


def _open_files() -> list[str]:
    found = []
    for number in os.listdir("/proc/self/fd"):
        try:
            found.append(os.readlink(f"/proc/self/fd/{number}"))
        except FileNotFoundError:
            continue
    return found


def test_a_returned_slice_does_not_keep_its_buffers(tmp_path: Path) -> None:
    written = write(tmp_path, [("a", batch(range(100_000)).slice(5, 2))], Limits(group_rows=10))
    assert values(written, "a") == [5, 6]
    assert len(pickle.dumps(written)) < 5000


def test_a_task_that_fails_leaves_nothing_open(tmp_path: Path) -> None:
    with TargetWriter({"a": place(tmp_path, "a")}, Limits(group_rows=2)) as writer:
        writer.add("a", batch(range(3)))
        assert any(str(tmp_path) in link for link in _open_files())
    assert not any(str(tmp_path) in link for link in _open_files())
