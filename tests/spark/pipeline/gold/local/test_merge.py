"""Small gold tables changed without Spark have the rows that Spark's MERGE would leave.

A dictionary says which these are. It is compared with Spark's MERGE of a table's later changes for
one key of several columns; for each type of key, Spark's fold is compared with the one used here in
`test_fold.py`.
"""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable, Sequence
from datetime import datetime, timezone
from decimal import Decimal
from itertools import chain
from pathlib import Path
from random import Random
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from deltalake import DeltaTable
from pyspark.sql import SparkSession, functions as sf, types as st

from pipeline.gold.apply.merge import apply_part
from pipeline.gold.changes.changes import PartChanges
from pipeline.gold.changes.fold import Shape
from pipeline.gold.changes.images import LeftOut, image_type
from pipeline.gold.local.merge import apply_without_spark
from pipeline.gold.table.gold_table import Write
from pipeline.gold.table.table_metadata import create_table
from pipeline.lake.delta_log.spark_written import clustered_by
from pipeline.lake.delta_step import Step
from tests.support.gold.random_changes import (
    COLUMNS,
    SHAPES,
    history,
    silver_rows,
    silver_type,
)
from tests.support.lake.table_rows import assert_spark_reads_it_so, read_table

APP = "gold/shop/t"
ID = SHAPES["a number"]
DEFAULTS: dict[str, Any] = {"f": 1.5, "tags": None, "yes": True}
KINDS: dict[str, tuple[Sequence[str], dict[str, str]]] = {
    "clustered": (["id"], {"delta.enableDeletionVectors": "true"}),
    "plain": ([], {}),
    "mapped": (
        ["id"],
        {"delta.columnMapping.mode": "name", "delta.enableDeletionVectors": "true"},
    ),
}


def created(spark: SparkSession, place: Path, shape: Shape, kind: str = "clustered") -> str:
    """Create an empty gold table."""
    clustering, properties = KINDS[kind]
    kinds = {field.name: field.dataType for field in image_type(silver_type())}
    fields = [st.StructField(name, kinds[name]) for name in shape.columns]
    fields += [st.StructField("__lsn", st.LongType())]
    fields += [st.StructField("__committed_at", st.TimestampType())]
    properties = {"delta.feature.timestampNtz": "supported", **properties}
    create_table(spark, str(place), st.StructType(fields), clustering, properties)
    return str(place)


def apply(
    spark: SparkSession,
    table: str,
    shape: Shape,
    changes: list[Any],
    version: int = 1,
    *,
    by_spark: bool = False,
) -> None:
    """Apply changes as one step."""
    write = Write(table, Step(APP, version))
    if by_spark:
        kinds = {field.name: field.dataType for field in image_type(silver_type())}
        taken = PartChanges(spark.createDataFrame(changes, silver_type()))
        defaults = {name: sf.lit(value).cast(kinds[name]) for name, value in DEFAULTS.items()}
        left_out = LeftOut(defaults=defaults)
        apply_part(spark, lambda _: taken, shape, write, left_out=left_out, complete=True)
        return
    rows = silver_rows(changes)
    types = {field.name: field.type for field in rows.schema.field("after").type}
    known = {name: pa.scalar(value, types[name]) for name, value in DEFAULTS.items()}
    count = apply_without_spark(rows, shape, write, defaults=lambda _: known)
    assert count == len(changes), "left to Spark"


def halves(shape: Shape, seed: int, *, moves: bool = True) -> tuple[list[Any], list[Any]]:
    changes = sorted(history(shape, seed, moves=moves), key=lambda change: change[1:4])
    return [c for c in changes if c[1] == 1], [c for c in changes if c[1] > 1]


def rows_in(table: str) -> list[str]:
    return sorted(map(repr, read_table(table)[1].to_pylist()))


def outcome(table: str, shape: Shape, *batches: list[Any]) -> list[str]:
    """Return the rows that changes of an empty table leave, as `rows_in` does."""
    rows: dict[tuple[Any, ...], dict[str, Any]] = {}
    for op, lsn, _, _, at, *images, _ in chain(*batches):
        before, after = (
            {n: v for n, v in zip(COLUMNS, image or (), strict=False) if n not in (absent or ())}
            for image, absent in zip(images[:2], images[2:], strict=True)
        )
        row = DEFAULTS
        if op != "insert":
            row = rows.pop(tuple(before[name] for name in shape.key)) | before
        if op != "delete":
            row = row | after
            own = {"__lsn": lsn, "__committed_at": at}
            rows[tuple(row[name] for name in shape.key)] = row | own
    schema = read_table(table)[1].schema
    return sorted(map(repr, pa.Table.from_pylist([*rows.values()], schema).to_pylist()))


def operations(table: str) -> list[str]:
    return [entry["operation"] for entry in DeltaTable(table).history()][::-1]


@pytest.mark.parametrize("name", SHAPES)
def test_whole_images_are_applied(spark: SparkSession, tmp_path: Path, name: str) -> None:
    shape = SHAPES[name]
    table = created(spark, tmp_path / "t", shape)
    batches = halves(shape, len(name))
    for version, changes in enumerate(batches, start=1):
        apply(spark, table, shape, changes, version)
    assert rows_in(table) == outcome(table, shape, *batches) != []


def changed_here_and_by_spark(
    spark: SparkSession, place: Path, shape: Shape, batches: Sequence[list[Any]], kind: str
) -> tuple[str, str]:
    """Return two tables with the same first changes, then changed here and by Spark."""
    here = created(spark, place / "here", shape, kind)
    first, second = batches
    apply(spark, here, shape, first, 1)
    there = str(shutil.copytree(here, place / "there"))
    apply(spark, here, shape, second, 2)
    apply(spark, there, shape, second, 2, by_spark=True)
    return here, there


def test_it_equals_a_merge_by_spark(spark: SparkSession, tmp_path: Path) -> None:
    shape = SHAPES["in another order"]
    batches = halves(shape, 16)
    tables = changed_here_and_by_spark(spark, tmp_path, shape, batches, "mapped")
    for table in tables:
        assert rows_in(table) == outcome(table, shape, *batches) != []
    assert_spark_reads_it_so(spark, tables[0])


def leaving_out(changes: list[Any], shape: Shape, seed: int) -> list[Any]:
    """Return changes of unchanged keys whose images lack columns, as MINIMAL ones do; of every
    second key, no update has three of the columns."""
    random, others = Random(seed), [name for name in COLUMNS if name not in shape.key]
    found, keys = [], list[tuple[Any, ...]]()
    for op, lsn, pos, row, at, before, after, *_ in changes:
        key = tuple((after or before)[COLUMNS.index(name)] for name in shape.key)
        keys += [] if key in keys else [key]
        unlogged = [] if keys.index(key) % 2 else others[:3]
        absent: list[list[str] | None] = [None, None]
        if op == "insert":
            absent[1] = random.choice([None, random.sample([*DEFAULTS], 2)])
        if op != "insert":
            absent[0] = random.choice([None, others, others, random.sample(others, 3)])
        if op == "update":
            absent[1] = random.choice([None, [*shape.key], random.sample(COLUMNS, 4)])
            absent = [[*(names or ()), *unlogged] or None for names in absent]
        images = (
            image and tuple(None if COLUMNS[n] in (gone or ()) else v for n, v in enumerate(image))
            for image, gone in zip((before, after), absent, strict=True)
        )
        found.append((op, lsn, pos, row, at, *images, *absent, None))
    return found


@pytest.mark.parametrize("name", SHAPES)
def test_partial_images_are_applied(spark: SparkSession, tmp_path: Path, name: str) -> None:
    shape = SHAPES[name]
    table = created(spark, tmp_path / "t", shape)
    batches = partial_halves(shape, len(name))
    for version, changes in enumerate(batches, start=1):
        apply(spark, table, shape, changes, version)
    assert rows_in(table) == outcome(table, shape, *batches) != []


def test_partial_images_are_applied_as_by_spark(spark: SparkSession, tmp_path: Path) -> None:
    shape = SHAPES["times"]
    batches = partial_halves(shape, 5)
    for table in changed_here_and_by_spark(spark, tmp_path, shape, batches, "clustered"):
        assert rows_in(table) == outcome(table, shape, *batches) != []


def partial_halves(shape: Shape, seed: int) -> list[list[Any]]:
    whole = halves(shape, seed, moves=False)
    return [leaving_out(changes, shape, n) for n, changes in enumerate(whole)]


ROW = (1, Decimal(1), "a", b"", None, None, None, True, 0.5, None, "p")
LEFT = {
    "a moved row": ("update", (1, *ROW[1:]), (2, *ROW[1:]), ["t"], ["t"], None),
    "an unknown DEFAULT": ("insert", None, ROW, None, ["t"], None),
    "a key that is left out": ("update", ROW, ROW, ["id"], None, None),
    "a JSON diff": ("update", ROW, ROW, None, None, {"t": "[]"}),
}


@pytest.mark.parametrize("name", LEFT)
def test_other_partial_images_are_left_to_spark(
    spark: SparkSession, tmp_path: Path, name: str
) -> None:
    op, before, after, *absent = LEFT[name]
    change = (op, 1, 0, 0, datetime(2024, 1, 1, tzinfo=timezone.utc), before, after, *absent)
    rows = silver_rows([change])
    table = created(spark, tmp_path / "t", ID)
    assert apply_without_spark(rows, ID, Write(table, Step(APP, 1))) is None


def test_images_that_may_lack_a_changed_generated_column_are_left_to_spark(
    spark: SparkSession, tmp_path: Path
) -> None:
    change = ("update", 1, 0, 0, datetime(2024, 1, 1, tzinfo=timezone.utc), ROW, ROW, ["t"], None)
    rows = silver_rows([(*change, None)])
    table = created(spark, tmp_path / "t", ID)
    write = Write(table, Step(APP, 1))
    assert apply_without_spark(rows, ID, write, defaults=lambda _: None) is None
    assert apply_without_spark(rows, ID, write) == 1


def test_keyless_tables_equal_those_of_spark(spark: SparkSession, tmp_path: Path) -> None:
    batches = copied(halves(ID, 1), 1)
    tables = changed_here_and_by_spark(spark, tmp_path, Shape(COLUMNS, ()), batches, "plain")
    here, there = map(rows_in, tables)
    assert here == there
    assert len(here) > len({*here}) > 0


def copied(batches: Sequence[list[Any]], seed: int) -> list[list[Any]]:
    """Return the changes with several copies of each row, not all of which are removed again."""
    random = Random(seed)
    found = []
    for changes in batches:
        found.append(list(changes))
        for change in changes:
            if change[0] == "insert":
                found[-1] += [change] * random.randrange(4)
    return found


def test_keyless_rows_are_added_without_reading_any(spark: SparkSession, tmp_path: Path) -> None:
    shape = Shape(COLUMNS, ())
    table = created(spark, tmp_path / "t", shape, "plain")
    rows = [change for half in halves(ID, 1) for change in half if change[0] == "insert"]
    for version in (1, 2):
        apply(spark, table, shape, rows, version)
    assert operations(table) == ["CREATE TABLE", "WRITE", "WRITE"]
    assert len(rows_in(table)) == 2 * len(rows)


def test_spark_goes_on_with_the_table(spark: SparkSession, tmp_path: Path) -> None:
    table = created(spark, tmp_path / "t", ID, "mapped")
    first, second = halves(ID, 1)
    apply(spark, table, ID, first, 1)
    apply(spark, table, ID, second[:10], 2)
    apply(spark, table, ID, first, 2, by_spark=True)  # a step is done once
    apply(spark, table, ID, second[10:20], 3, by_spark=True)
    apply(spark, table, ID, first, 3)
    apply(spark, table, ID, second[20:], 4)
    created_by, first_by, second_by, _, last_by = operations(table)  # a commit for each step
    assert (created_by, first_by) == ("CREATE TABLE", "WRITE")
    assert second_by == last_by == "MERGE"
    spark.sql(f"ALTER TABLE delta.`{table}` SET TBLPROPERTIES ('a' = 'b')")
    spark.sql(f"OPTIMIZE delta.`{table}`")
    assert_spark_reads_it_so(spark, table)
    assert rows_in(table) == outcome(table, ID, first, second)


def checksum(table: str, version: int) -> dict[str, Any]:
    text = Path(table, "_delta_log", f"{version:020d}.crc").read_bytes()
    found: dict[str, Any] = json.loads(text)
    found["setTransactions"] = {one["appId"]: one["version"] for one in found["setTransactions"]}
    found["allFiles"] = sorted(file["path"] for file in found["allFiles"])
    return found


def with_sparks_checksum(spark: SparkSession, table: str) -> None:
    """Let Spark commit, and compute the checksum from the whole log, as if there were none."""
    for file in Path(table, "_delta_log").glob("*.crc"):
        file.unlink()
    spark.catalog.clearCache()
    spark.sparkContext._jvm.org.apache.spark.sql.delta.DeltaLog.clearCache()
    spark.sql(f"ALTER TABLE delta.`{table}` SET TBLPROPERTIES ('a' = 'b')")


def test_checksums_are_those_that_spark_computes(spark: SparkSession, tmp_path: Path) -> None:
    table = created(spark, tmp_path / "t", ID)
    with_sparks_checksum(spark, table)
    for version, changes in enumerate(halves(ID, 2), start=1):
        apply(spark, table, ID, changes, version)
    ours = checksum(table, 3)
    with_sparks_checksum(spark, table)
    theirs = checksum(table, 4)
    for found in (ours, theirs):
        found.pop("txnId")
    assert ours == theirs


def test_a_checkpoint_is_written_and_keeps_the_clustering(
    spark: SparkSession, tmp_path: Path
) -> None:
    table = created(spark, tmp_path / "t", ID)
    first, second = halves(ID, 3)
    changes = [*first, *second]
    for version in range(1, 12):
        apply(spark, table, ID, changes[(version - 1) * 4 : version * 4], version)
    log = Path(table, "_delta_log")
    assert (log / f"{10:020d}.checkpoint.parquet").exists()
    for version in range(10):
        (log / f"{version:020d}.json").unlink()
        (log / f"{version:020d}.crc").unlink(missing_ok=True)
    (log / f"{10:020d}.crc").unlink()
    (log / f"{11:020d}.crc").unlink()
    spark.sparkContext._jvm.org.apache.spark.sql.delta.DeltaLog.clearCache()
    assert clustered_by(spark, table) == ("id",)
    assert_spark_reads_it_so(spark, table)
    assert rows_in(table) == outcome(table, ID, changes[:44])


def altered(statement: str) -> Callable[[SparkSession, str], object]:
    return lambda spark, table: spark.sql(statement.format(f"delta.`{table}`"))


def with_a_deletion_vector(spark: SparkSession, table: str) -> None:
    last = max(read_table(table)[1]["id"].to_pylist())
    spark.sql(f"DELETE FROM delta.`{table}` WHERE id = {last}")
    assert len(pa.table(DeltaTable(table).deletion_vectors())) == 1


def with_old_times(_: SparkSession, table: str) -> None:
    (file,) = Path(table).glob("*.parquet")
    rows = pq.read_table(file)
    pq.write_table(rows, file, use_deprecated_int96_timestamps=True)


UNUSUAL: dict[str, Callable[[SparkSession, str], object]] = {
    "a deletion vector": with_a_deletion_vector,
    "a feed of changes": altered(
        "ALTER TABLE {} SET TBLPROPERTIES ('delta.enableChangeDataFeed' = 'true')"
    ),
    "another column": altered("ALTER TABLE {} ADD COLUMNS (other int)"),
    "a constraint": altered("ALTER TABLE {} ADD CONSTRAINT few CHECK (id < 100)"),
    "row tracking": altered(
        "ALTER TABLE {} SET TBLPROPERTIES ('delta.enableRowTracking' = 'true')"
    ),
    "times in 96 bits": with_old_times,
    "a lost file": lambda _, table: [file.unlink() for file in Path(table).glob("*.parquet")],
}


@pytest.mark.parametrize("what", UNUSUAL)
def test_unusual_tables_are_left_to_spark(spark: SparkSession, tmp_path: Path, what: str) -> None:
    table = created(spark, tmp_path / "t", ID)
    first, second = halves(ID, 6)
    apply(spark, table, ID, first)
    UNUSUAL[what](spark, table)
    before = DeltaTable(table).version()
    with pytest.raises(AssertionError, match="left to Spark"):
        apply(spark, table, ID, second, 2)
    assert DeltaTable(table).version() == before
