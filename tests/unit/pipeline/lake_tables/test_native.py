"""What delta-rs would let happen to a lake's tables, and `NativeTables` does not."""

from __future__ import annotations

import multiprocessing
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from deltalake import CommitProperties, DeltaTable, Transaction, write_deltalake
from deltalake.exceptions import CommitFailedError, TableNotFoundError

from pipeline.errors import ConcurrentRunError, UnreachableError
from pipeline.lake import Lake
from pipeline.lake_tables import delta_rs, native
from pipeline.lake_tables.conditions import ALL_ROWS, among, compare, equal
from pipeline.lake_tables.data_files import DataFileWriter
from pipeline.lake_tables.delta_rs import AlteredTableError
from pipeline.lake_tables.native import NativeTables
from pipeline.lake_tables.table import LakeTable, Step
from pipeline.lake_tables.tables import constant

SCHEMA = pa.schema([("source", pa.string()), ("n", pa.int64()), ("text", pa.string())])


@pytest.fixture
def table(tmp_path: Path) -> LakeTable:
    return LakeTable(str(tmp_path / "t"), SCHEMA, statistics=("n", "text"))


@pytest.fixture
def tables(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> NativeTables:
    monkeypatch.setattr("time.sleep", lambda _: None)
    return NativeTables(Lake(str(tmp_path)))


def rows(*numbers: int | None, source: str = "s", text: str | None = "x") -> pa.Table:
    given = [{"source": source, "n": number, "text": text} for number in numbers]
    return pa.Table.from_pylist(given, schema=SCHEMA)


def numbers(tables: NativeTables, table: LakeTable) -> list[int]:
    return sorted(tables.read(table).column("n").to_pylist())


def version(table: LakeTable) -> int:
    return DeltaTable(table.reference).version()


def paths(table: LakeTable) -> set[str]:
    return set(pa.table(DeltaTable(table.reference).get_add_actions()).column("path").to_pylist())


def _forty_steps(reference: str, ready: Any) -> None:
    table = LakeTable(reference, SCHEMA)
    ready.wait()
    for step in range(40):
        NativeTables(Lake(reference)).append(table, rows(step), Step("a", step))


def test_two_processes_at_the_same_steps_do_each_once(
    tables: NativeTables, table: LakeTable
) -> None:
    spawn = multiprocessing.get_context("spawn")
    ready = spawn.Barrier(2)
    both = [spawn.Process(target=_forty_steps, args=(table.reference, ready)) for _ in range(2)]
    for process in both:
        process.start()
    for process in both:
        process.join(120)
    assert [process.exitcode for process in both] == [0, 0]
    assert numbers(tables, table) == list(range(40))
    assert version(table) == 39


def before_the_first(
    monkeypatch: pytest.MonkeyPatch, name: str, other: Callable[[], object], times: int = 1
) -> list[int]:
    """Another writer commits when this one is about to, so many times; how often this one tried."""
    tried: list[int] = []
    real = getattr(native, name) if hasattr(native, name) else getattr(DeltaTable, name)

    def late(*given: Any, **options: Any) -> None:
        tried.append(len(tried))
        if len(tried) <= times:
            other()
        real(*given, **options)

    owner = native if hasattr(native, name) else DeltaTable
    monkeypatch.setattr(owner, name, late)
    return tried


def append_elsewhere(table: LakeTable, *given: int, step: Step | None = None) -> None:
    steps = [Transaction(step.app, step.version)] if step else None
    properties = CommitProperties(app_transactions=steps)
    write_deltalake(table.reference, rows(*given), mode="append", commit_properties=properties)


@pytest.mark.parametrize("step", [Step("a", 1), None])
def test_a_table_that_another_writer_makes_first_is_appended_to(
    step: Step | None, tables: NativeTables, table: LakeTable, monkeypatch: pytest.MonkeyPatch
) -> None:
    tried = before_the_first(
        monkeypatch, "create_table_with_add_actions", lambda: append_elsewhere(table, 7)
    )
    assert tables.append(table, rows(1), step)
    assert (numbers(tables, table), len(tried)) == ([1, 7], 1)


def test_a_step_that_another_writer_did_first_is_not_done_again(
    tables: NativeTables, table: LakeTable, monkeypatch: pytest.MonkeyPatch
) -> None:
    tables.append(table, rows(1), Step("a", 1))
    step = Step("a", 2)
    before_the_first(
        monkeypatch, "create_write_transaction", lambda: append_elsewhere(table, 2, step=step)
    )
    assert not tables.append(table, rows(2), step)
    assert numbers(tables, table) == [1, 2]


@pytest.mark.parametrize(
    ("change", "left"),
    [
        (lambda tables, table: tables.delete(table, equal("n", 1), Step("d", 1)), [2, 7]),
        (
            lambda tables, table: tables.update(
                table, equal("n", 1), [constant("n", 5)], Step("d", 1)
            ),
            [2, 5, 7],
        ),
        (lambda tables, table: tables.replace(table, ALL_ROWS, rows(9), Step("d", 1)), [9]),
    ],
)
def test_rows_that_another_writer_adds_meanwhile_are_seen(
    change: Callable[[NativeTables, LakeTable], bool],
    left: list[int],
    tables: NativeTables,
    table: LakeTable,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    tables.append(table, rows(1, 2), Step("a", 1))
    tried = before_the_first(
        monkeypatch, "create_write_transaction", lambda: append_elsewhere(table, 7)
    )
    assert change(tables, table)
    assert len(tried) == 2
    assert numbers(tables, table) == left


def test_who_never_gets_to_commit_says_so(
    tables: NativeTables, table: LakeTable, monkeypatch: pytest.MonkeyPatch
) -> None:
    tables.append(table, rows(1), Step("a", 1))
    before_the_first(
        monkeypatch, "create_write_transaction", lambda: append_elsewhere(table, 7), times=99
    )
    with pytest.raises(ConcurrentRunError, match="Step 2 of a lost 8 times to other writers"):
        tables.append(table, rows(2), Step("a", 2))
    assert len(list(Path(table.reference).glob("*.zstd.parquet"))) == 2  # written once for all


@pytest.mark.parametrize("step", [Step("a", 2), None])
def test_a_commit_whose_answer_is_lost_is_not_made_twice(
    step: Step | None, tables: NativeTables, table: LakeTable, monkeypatch: pytest.MonkeyPatch
) -> None:
    tables.append(table, rows(1), Step("a", 1))
    real = DeltaTable.create_write_transaction

    def lost(*given: Any, **options: Any) -> None:
        real(*given, **options)
        raise CommitFailedError("timed out")

    monkeypatch.setattr(DeltaTable, "create_write_transaction", lost)
    assert tables.append(table, rows(2), step)
    assert numbers(tables, table) == [1, 2]


def test_a_store_that_refuses_is_told_and_not_taken_for_another_writer(
    tables: NativeTables, table: LakeTable, monkeypatch: pytest.MonkeyPatch
) -> None:
    tables.append(table, rows(1), Step("a", 1))

    def refused(*_: Any, **__: Any) -> None:
        raise CommitFailedError("403 Forbidden\n   0: <unknown>")

    monkeypatch.setattr(DeltaTable, "create_write_transaction", refused)
    with pytest.raises(UnreachableError, match=r"^lake: .*/t cannot be .* 403 Forbidden\. Check"):
        tables.append(table, rows(2), Step("a", 2))


def test_a_folder_that_cannot_be_looked_into_is_no_empty_table(
    tables: NativeTables, table: LakeTable, monkeypatch: pytest.MonkeyPatch
) -> None:
    """delta-rs says of both that there is no table."""
    tables.append(table, rows(1), Step("a", 1))

    def hidden(*_: Any, **__: Any) -> None:
        raise TableNotFoundError("does not exist or you don't have access!")

    monkeypatch.setattr(delta_rs, "DeltaTable", hidden)
    for asked in (tables.exists, tables.read):
        with pytest.raises(UnreachableError, match="or you don't have access"):
            asked(table)


def test_a_folder_without_a_commit_is_no_table(tables: NativeTables, table: LakeTable) -> None:
    Path(table.reference, "_delta_log").mkdir(parents=True)
    assert not tables.exists(table)
    tables.append(table, rows(1), Step("a", 1))
    assert tables.exists(table)


def garbage(table: LakeTable) -> None:
    Path(table.reference, "_delta_log", f"{1:020}.json").write_text("garbage\n")


def without_files(table: LakeTable) -> None:
    for file in Path(table.reference).glob("*.parquet"):
        file.unlink()


@pytest.mark.parametrize("harm", [garbage, without_files])
def test_damage_is_told_in_a_sentence(
    harm: Callable[[LakeTable], None], tables: NativeTables, table: LakeTable
) -> None:
    tables.append(table, rows(1), Step("a", 1))
    harm(table)
    with pytest.raises(UnreachableError) as caught:
        tables.read(table)
    assert table.reference in str(caught.value)
    assert "\n" not in str(caught.value)


def test_features_that_somebody_gave_a_table_are_told(
    tables: NativeTables, table: LakeTable
) -> None:
    tables.append(table, rows(1), Step("a", 1))
    DeltaTable(table.reference).alter.add_constraint({"positive": "n > 0"})
    for asked in (tables.read, lambda table: tables.append(table, rows(2), Step("a", 2))):
        with pytest.raises(AlteredTableError, match="was given features of Delta"):
            asked(table)


def test_columns_of_a_table_with_rows_never_change(tables: NativeTables, table: LakeTable) -> None:
    tables.append(table, rows(1), Step("a", 1))
    other = replace(table, schema=SCHEMA.append(pa.field("new", pa.int64())))
    more = rows(2).append_column("new", pa.array([1], pa.int64()))
    with pytest.raises(AlteredTableError, match=r"lacks columns that it should have \(new\)"):
        tables.append(other, more, Step("a", 2))
    typed = replace(table, schema=SCHEMA.set(1, pa.field("n", pa.int32())))
    with pytest.raises(AlteredTableError, match=r"\(n\)"):
        tables.append(typed, rows(2), Step("a", 2))
    assert numbers(tables, table) == [1]


def test_steps_survive_checkpoints_which_hadoops_checksum_no_longer_fits(
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


def test_nothing_to_do_is_no_commit(tables: NativeTables, table: LakeTable) -> None:
    tables.append(table, rows(1), Step("a", 1))
    assert not tables.update(table, equal("n", 2), [constant("n", 3)], Step("u", 1))
    assert not tables.delete(table, among("n", [2, 3]), Step("d", 1))
    assert not tables.append(table, rows(), Step("a", 2))
    assert not tables.add(table, [], None, Step("a", 2))
    assert version(table) == 0


def test_files_lose_their_rows_one_by_one_and_whole_ones_unread(
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
    """delta-rs's own dataset leaves it out, in tables with partitions."""
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


def test_rows_of_16_mib_are_changed_one_row_group_at_a_time(
    tables: NativeTables, tmp_path: Path
) -> None:
    schema = pa.schema([("n", pa.int64()), ("bytes", pa.binary())])
    table = LakeTable(str(tmp_path / "big"), schema, statistics=("n",))
    writer = DataFileWriter(tables.folder(table), table)
    for number in range(12):
        cell = bytes([number]) * (16 << 20)
        writer.write(pa.Table.from_pylist([{"n": number, "bytes": cell}], schema=schema))
    tables.add(table, [writer.close()], None, Step("a", 1))
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


def test_a_file_that_a_commit_could_not_remove_is_told(
    tables: NativeTables, table: LakeTable
) -> None:
    """Hadoop leaves letters as they are in URLs; delta-rs would remove a file of another name."""
    tables.append(table, rows(1, 2), Step("a", 1))
    (name,) = paths(table)
    log = Path(table.reference, "_delta_log", f"{0:020}.json")
    Path(table.reference, "ü").mkdir()
    Path(table.reference, name).rename(Path(table.reference, "ü", name))
    log.write_text(log.read_text().replace(name, f"ü/{name}"))
    with pytest.raises(AlteredTableError, match="whose name only Spark can spell"):
        tables.delete(table, equal("n", 1), Step("d", 1))
    assert numbers(tables, table) == [1, 2]


NOT_NULL = pa.schema([pa.field("n", pa.int64(), nullable=False)])


@pytest.mark.parametrize(
    ("schema", "others", "given", "error"),
    [
        (NOT_NULL, {}, {"n": [None]}, ValueError),
        (NOT_NULL, {}, {"n": ["x"]}, ValueError),
        (NOT_NULL, {}, {"m": [1]}, KeyError),
        (pa.schema([("n", pa.float64())]), {"statistics": ("n",)}, {"n": [1.0]}, TypeError),
        (NOT_NULL, {"statistics": ("m",)}, {"n": [1]}, KeyError),
        (SCHEMA, {"partition_by": ("source",)}, rows(1, source="").to_pydict(), ValueError),
    ],
)  # fmt: skip
def test_rows_that_a_table_may_not_have_are_refused(
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


def test_a_file_that_is_given_up_leaves_nothing(tables: NativeTables, table: LakeTable) -> None:
    writer = DataFileWriter(table.reference, table)
    writer.write(rows(1))
    writer.abandon()
    DataFileWriter(table.reference, table).abandon()
    assert list(Path(table.reference).iterdir()) == []


def test_references_are_taken_as_the_lock_takes_them(tmp_path: Path) -> None:
    assert delta_rs.place(f"file:{tmp_path}/t") == f"{tmp_path}/t"
    assert delta_rs.place("gcs://bucket/t") == "gs://bucket/t"
    assert delta_rs.place("s3a://bucket/t") == "s3a://bucket/t"
