"""Faults that delta-rs would allow, and that `NativeTables` prevents."""

from __future__ import annotations

import os
from collections.abc import Callable
from contextlib import nullcontext
from dataclasses import replace
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from deltalake import DeltaTable, write_deltalake
from deltalake.exceptions import CommitFailedError, TableNotFoundError

from pipeline.errors import UnreachableError
from pipeline.lake.delta_log import delta_rs
from pipeline.lake.delta_log.conditions import among, compare, equal
from pipeline.lake.delta_log.delta_rs import AlteredTableError
from pipeline.lake.delta_log.model import DataFile, LakeTable
from pipeline.lake.delta_step import Step
from pipeline.lake.files.data_files import DataFileWriter, write_rows
from pipeline.lake.tables import native
from pipeline.lake.tables.native import NativeTables
from pipeline.lake.tables.tables import constant
from tests.support.lake.native_rows import SCHEMA, numbers, paths, rows, version


def test_a_failing_store_is_not_taken_for_a_conflict(
    tables: NativeTables, table: LakeTable, monkeypatch: pytest.MonkeyPatch
) -> None:
    tables.append(table, rows(1), Step("a", 1))

    def refused(*_: Any, **__: Any) -> None:
        raise CommitFailedError("403 Forbidden\n   0: <unknown>")

    monkeypatch.setattr(DeltaTable, "create_write_transaction", refused)
    with pytest.raises(UnreachableError, match=r"^lake: .*/t cannot be .* 403 Forbidden\. Check"):
        tables.append(table, rows(2), Step("a", 2))


def test_an_unreadable_folder_is_not_taken_for_an_empty_table(
    tables: NativeTables, table: LakeTable, monkeypatch: pytest.MonkeyPatch
) -> None:
    """delta-rs reports both as a missing table."""
    tables.append(table, rows(1), Step("a", 1))

    def hidden(*_: Any, **__: Any) -> None:
        raise TableNotFoundError("does not exist or you don't have access!")

    monkeypatch.setattr(delta_rs, "DeltaTable", hidden)
    for asked in (tables.exists, tables.read):
        with pytest.raises(UnreachableError, match="or you don't have access"):
            asked(table)


def test_a_folder_without_a_commit_is_not_a_table(tables: NativeTables, table: LakeTable) -> None:
    Path(table.reference, "_delta_log").mkdir(parents=True)
    assert not tables.exists(table)
    tables.append(table, rows(1), Step("a", 1))
    assert tables.exists(table)


def test_a_table_is_created_once_with_all_its_rows_whoever_comes_first(
    tables: NativeTables, table: LakeTable, monkeypatch: pytest.MonkeyPatch
) -> None:
    def files(*values: int) -> list[DataFile]:
        return write_rows(table.reference, table, rows(*values))

    assert tables.create(table, files(1, 2), "first")
    assert not tables.create(table, files(3), "second")
    assert (numbers(tables, table), version(table)) == ([1, 2], 0)
    assert [commit.note for commit in tables.history(table, None)] == ["first"]

    other = replace(table, reference=f"{table.reference}2")
    real = native.create_table_with_add_actions

    def late(*given: Any, **options: Any) -> None:
        """Create the table after another writer has."""
        monkeypatch.setattr(native, "create_table_with_add_actions", real)
        assert tables.create(other, write_rows(other.reference, other, rows(7)), "other's")
        real(*given, **options)

    monkeypatch.setattr(native, "exclusive", lambda _: nullcontext())
    monkeypatch.setattr(native, "create_table_with_add_actions", late)
    assert not tables.create(other, write_rows(other.reference, other, rows(8)), "late")
    assert numbers(tables, other) == [7]


def garbage(table: LakeTable) -> None:
    Path(table.reference, "_delta_log", f"{1:020}.json").write_text("garbage\n")


def without_files(table: LakeTable) -> None:
    for file in Path(table.reference).glob("*.parquet"):
        file.unlink()


@pytest.mark.parametrize("harm", [garbage, without_files])
def test_damage_is_an_error_with_a_sentence(
    harm: Callable[[LakeTable], None], tables: NativeTables, table: LakeTable
) -> None:
    tables.append(table, rows(1), Step("a", 1))
    harm(table)
    with pytest.raises(UnreachableError) as caught:
        tables.read(table)
    assert table.reference in str(caught.value)
    assert "\n" not in str(caught.value)


def test_unknown_table_features_are_an_error(tables: NativeTables, table: LakeTable) -> None:
    tables.append(table, rows(1), Step("a", 1))
    DeltaTable(table.reference).alter.add_constraint({"positive": "n > 0"})
    for asked in (tables.read, lambda table: tables.append(table, rows(2), Step("a", 2))):
        with pytest.raises(AlteredTableError, match="has Delta table features"):
            asked(table)


def test_columns_of_a_table_with_rows_must_not_change(
    tables: NativeTables, table: LakeTable
) -> None:
    tables.append(table, rows(1), Step("a", 1))
    other = replace(table, schema=SCHEMA.append(pa.field("new", pa.int64())))
    more = rows(2).append_column("new", pa.array([1], pa.int64()))
    with pytest.raises(
        AlteredTableError, match="lacks these columns, or has them with other types: new"
    ):
        tables.append(other, more, Step("a", 2))
    typed = replace(table, schema=SCHEMA.set(1, pa.field("n", pa.int32())))
    with pytest.raises(AlteredTableError, match="other types: n;"):
        tables.append(typed, rows(2), Step("a", 2))
    assert numbers(tables, table) == [1]


def test_steps_survive_checkpoints_with_a_stale_hadoop_checksum(
    tables: NativeTables, table: LakeTable
) -> None:
    table = replace(table, properties={"delta.checkpointInterval": "5"})
    stale = Path(table.reference, "_delta_log", "._last_checkpoint.crc")
    for number in range(12):
        tables.append(table, rows(number), Step("a", number))
        if number == 8:
            stale.write_bytes(b"crc\0")
    log = Path(table.reference, "_delta_log")
    assert (log / "_last_checkpoint").exists()
    assert not stale.exists()
    for commit in sorted(log.glob("*.json"))[:10]:
        commit.unlink()
    assert not tables.append(table, rows(99), Step("a", 11))
    assert not tables.append(table, rows(99), Step("a", 3))
    assert numbers(tables, table) == list(range(12))


def test_without_changes_there_is_no_commit(tables: NativeTables, table: LakeTable) -> None:
    tables.append(table, rows(1), Step("a", 1))
    assert not tables.update(table, equal("n", 2), [constant("n", 3)], Step("u", 1))
    assert not tables.delete(table, among("n", [2, 3]), Step("d", 1))
    assert not tables.append(table, rows(), Step("a", 2))
    assert not tables.append(table, None, Step("a", 2))
    assert version(table) == 0


def test_deletes_rewrite_files_and_remove_whole_ones_unread(
    tables: NativeTables, table: LakeTable, monkeypatch: pytest.MonkeyPatch
) -> None:
    for number in range(3):
        tables.append(table, rows(number * 10, number * 10 + 1), Step("a", number))
    kept = paths(table)
    written: list[int] = []
    real = DataFileWriter.write
    monkeypatch.setattr(
        DataFileWriter,
        "write",
        lambda writer, group: (written.append(len(group)), real(writer, group)),
    )
    assert tables.delete(table, compare("n", "<=", 10), Step("d", 1))
    assert numbers(tables, table) == [11, 20, 21]
    assert written == [1]
    assert len(paths(table) & kept) == 1
    (new,) = [
        entry
        for entry in pa.table(DeltaTable(table.reference).get_add_actions()).to_pylist()
        if entry["path"] not in kept
    ]
    assert (new["num_records"], new["min"]["n"], new["max"]["n"]) == (1, 11, 11)


def test_a_file_without_a_statistic_is_read(tables: NativeTables, table: LakeTable) -> None:
    """delta-rs's own dataset skips it, in partitioned tables."""
    table = replace(table, partition_by=("source",))
    tables.append(table, rows(1, text="x" * 65), Step("a", 1))
    tables.append(table, rows(2, text=None), Step("a", 2))
    tables.append(table, rows(3, text="y"), Step("a", 3))
    plain = replace(table, statistics=())
    tables.append(plain, rows(4, text="y"), Step("a", 4))
    for where, found in (
        (equal("text", "x" * 65), [1]),
        (equal("text", "y"), [3, 4]),
        (equal("n", 4), [4]),
        (compare("n", ">", 1) & equal("source", "s"), [2, 3, 4]),
    ):
        assert sorted(tables.read(table, where).column("n").to_pylist()) == found


def test_partitions_are_kept_also_in_folders_that_spark_names(
    tables: NativeTables, table: LakeTable
) -> None:
    table = replace(table, partition_by=("source",))
    for source in ("a b/%é", "other"):
        write_deltalake(
            table.reference,
            rows(1, 2, 3, source=source),
            mode="append",
            partition_by=["source"],
        )
    assert any("%25" in path for path in paths(table))
    mine = equal("source", "a b/%é")
    tables.delete(table, mine & equal("n", 1), Step("d", 1))
    tables.update(table, mine & equal("n", 2), [constant("n", 9)], Step("u", 1))
    assert tables.read(table, mine).column("n").sort().to_pylist() == [3, 9]
    tables.replace(table, mine, rows(5, source="a b/%é"), Step("r", 1))
    assert tables.read(table, mine).column("n").to_pylist() == [5]
    assert len(tables.read(table)) == 4


def test_rows_of_16_mib_are_updated_one_row_group_at_a_time(
    tables: NativeTables, tmp_path: Path
) -> None:
    schema = pa.schema([("n", pa.int64()), ("bytes", pa.binary())])
    table = LakeTable(str(tmp_path / "big"), schema, statistics=("n",))
    writer = DataFileWriter(tables.folder(table), table)
    for number in range(12):
        cell = bytes([number]) * (16 << 20)
        writer.write(pa.Table.from_pylist([{"n": number, "bytes": cell}], schema=schema))
    tables.append(table, None, Step("a", 1), [writer.close()])
    before = pa.total_allocated_bytes()
    peak = 0
    real = DataFileWriter.write

    def watched(self: DataFileWriter, group: pa.Table) -> None:
        nonlocal peak
        peak = max(peak, pa.total_allocated_bytes() - before)
        real(self, group)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(DataFileWriter, "write", watched)
        assert tables.delete(table, equal("n", 3), Step("d", 1))
    assert peak < 6 * (16 << 20)  # of 12
    found = tables.read(table, equal("n", 11))
    assert found.column("bytes").to_pylist() == [bytes([11]) * (16 << 20)]
    assert numbers(tables, table) == [0, 1, 2, 4, 5, 6, 7, 8, 9, 10, 11]
    (path,) = paths(table)
    assert pq.ParquetFile(tmp_path / "big" / path).num_row_groups == 11


def test_a_file_that_a_commit_could_not_remove_is_an_error(
    tables: NativeTables, table: LakeTable
) -> None:
    """Hadoop does not percent-encode letters; delta-rs would remove a file of another name."""
    tables.append(table, rows(1, 2), Step("a", 1))
    (name,) = paths(table)
    log = Path(table.reference, "_delta_log", f"{0:020}.json")
    Path(table.reference, "ü").mkdir()
    Path(table.reference, name).rename(Path(table.reference, "ü", name))
    log.write_text(log.read_text().replace(name, f"ü/{name}"))
    with pytest.raises(AlteredTableError, match="whose path delta-rs cannot remove"):
        tables.delete(table, equal("n", 1), Step("d", 1))
    assert numbers(tables, table) == [1, 2]


NOT_NULL = pa.schema([pa.field("n", pa.int64(), nullable=False)])


@pytest.mark.parametrize(
    ("schema", "others", "given", "error"),
    [
        (NOT_NULL, {}, {"n": [None]}, ValueError),
        (NOT_NULL, {}, {"n": ["x"]}, ValueError),
        (NOT_NULL, {}, {"m": [1]}, KeyError),
        (NOT_NULL, {"statistics": ("m",)}, {"n": [1]}, KeyError),
        (SCHEMA, {"partition_by": ("source",)}, rows(1, source="").to_pydict(), ValueError),
    ],
)  # fmt: skip
def test_invalid_rows_are_refused(
    schema: pa.Schema,
    others: dict[str, Any],
    given: dict[str, Any],
    error: type[Exception],
    tables: NativeTables,
    tmp_path: Path,
) -> None:
    table = LakeTable(str(tmp_path / "refused"), schema, **others)
    with pytest.raises(error):
        tables.append(table, pa.table(given), Step("a", 1))
    assert not tables.exists(table)


def test_an_abandoned_file_leaves_nothing(tables: NativeTables, table: LakeTable) -> None:
    writer = DataFileWriter(table.reference, table)
    writer.write(rows(1))
    writer.abandon()
    DataFileWriter(table.reference, table).abandon()
    assert list(Path(table.reference).iterdir()) == []


def test_references_are_resolved_as_by_the_lock(tmp_path: Path) -> None:
    assert delta_rs.place(f"file:{tmp_path}/t") == f"{tmp_path}/t"
    assert delta_rs.place("gcs://bucket/t") == "gs://bucket/t"
    assert delta_rs.place("s3a://bucket/t") == "s3a://bucket/t"


def test_a_delete_whose_reply_is_lost_returns_that_it_may_have_committed(
    tables: NativeTables, table: LakeTable, monkeypatch: pytest.MonkeyPatch
) -> None:
    tables.append(table, rows(1), Step("a", 1))
    commit = DeltaTable.create_write_transaction

    def lost(*given: Any, **named: Any) -> None:
        commit(*given, **named)
        raise CommitFailedError("the answer was lost")

    monkeypatch.setattr(DeltaTable, "create_write_transaction", lost)
    assert tables.delete(table, equal("n", 1), Step("b", 1))
    assert numbers(tables, table) == []


@pytest.mark.parametrize("kept", ["INTERVAL 30 DAYS", "30 days", "interval 1 month"])
def test_a_retention_that_only_spark_can_parse_stops_vacuum(
    tables: NativeTables, table: LakeTable, kept: str
) -> None:
    name = "delta.deletedFileRetentionDuration"
    tables.append(replace(table, properties={name: kept}), rows(1), Step("a", 1))
    orphan = Path(table.reference, "never-committed.parquet")
    orphan.write_bytes(b"PAR1")
    os.utime(orphan, (0, 0))
    with pytest.raises(AlteredTableError, match=r"interval 30 days"):
        tables.vacuum(table, "maintenance")
    assert orphan.exists()
