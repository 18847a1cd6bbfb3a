"""Tables committed by delta-rs can be read, merged and maintained by Spark."""

from __future__ import annotations

from collections.abc import Callable
from datetime import datetime, timezone
from decimal import Decimal
from functools import reduce
from pathlib import Path

import pyarrow as pa
import pytest
from pyspark.sql import DataFrame, SparkSession, functions as sf

from pipeline.lake import Lake, delta
from pipeline.lake.child_sessions import child_session
from pipeline.lake.delta_log.conditions import compare, equal
from pipeline.lake.delta_log.delta_rs import AlteredTableError
from pipeline.lake.delta_log.model import LakeTable
from pipeline.lake.delta_log.spark_types import spark_schema
from pipeline.lake.delta_step import Step
from pipeline.lake.files.data_files import DataFileWriter
from pipeline.lake.tables.native import NativeTables
from pipeline.lake.tables.tables import constant

ROW = pa.schema([("n", pa.int64())])
IMAGE = pa.struct(
    [
        ("id", pa.int64()),
        ("odd name, (ü)=", pa.string()),
        ("d9", pa.decimal128(9, 2)),
        ("d18", pa.decimal128(18, 18)),
        ("d20", pa.decimal128(20, 0)),
        ("d38", pa.decimal128(38, 30)),
        ("wall", pa.timestamp("us")),
        ("instant", pa.timestamp("us", "UTC")),
        ("shape", pa.struct([("srid", pa.int32()), ("wkb", pa.binary())])),
        ("floats", pa.list_(pa.float32())),
    ]
)
SCHEMA = pa.schema(
    [
        ("source", pa.string()),
        ("__lsn", pa.int64()),
        ("gtid", pa.string()),
        ("absent", pa.list_(pa.string())),
        ("diff", pa.map_(pa.string(), pa.string())),
        ("i8", pa.int8()),
        ("i16", pa.int16()),
        ("b", pa.bool_()),
        ("f", pa.float64()),
        ("day", pa.date32()),
        ("after", IMAGE),
    ]
)


def row(number: int) -> dict[str, object]:
    even = number % 2 == 0
    image = {
        "id": number,
        "odd name, (ü)=": "x" * number,
        "d9": Decimal(-number) / 100,
        "d18": Decimal("0.999999999999999999"),
        "d20": Decimal(2**64 - 1),
        "d38": Decimal("12345678.123456789012345678901234567890"),
        "wall": datetime(1000, 1, 1, 0, 0, 0, number),
        "instant": datetime(1969, 12, 31, 23, 59, 59, number, timezone.utc),
        "shape": {"srid": 4326, "wkb": b"\0\1"},
        "floats": [0.1, None],
    }
    return {
        "source": "s" if even else None,
        "__lsn": number,
        "gtid": None if number == 3 else f"{number:03}" + "ü" * number,
        "absent": ["a", None] if even else None,
        "diff": [("k", None)] if even else None,
        "i8": -number,
        "i16": number,
        "b": even,
        "f": number / 3,
        "day": datetime(9999, 12, 31).date(),
        "after": image if number % 3 else None,
    }


def rows(*chosen: int) -> pa.Table:
    return pa.Table.from_pylist([row(number) for number in chosen], schema=SCHEMA)


def by_spark(spark: SparkSession, table: LakeTable) -> pa.Table:
    """Return the rows in the order of their LSN."""
    found = delta.read(spark, table.reference).orderBy("__lsn").toArrow()
    return found.cast(table.schema)


CONDITIONS: dict[str, list[int]] = {
    "__lsn = 5": [5],
    "__lsn > 11": [12, 13, 14, 15, 70],
    "__lsn BETWEEN 6 AND 10": [6, 7, 10],
    "gtid = '070" + "ü" * 70 + "'": [70],
    "gtid > '012'": [12, 13, 14, 15, 70],
    "gtid IS NULL": [3],
    "i8 < -60": [70],
    "source = 's' AND __lsn = 4": [4],
    "source IS NULL AND __lsn < 12": [1, 3, 5, 7, 11],
    "after IS NULL": [0, 3, 6, 12, 15],
    "after.d9 < -0.11": [13, 14, 70],
}
"""Conditions by which files are skipped, and others that only filter rows; the LSNs that match."""


def chosen_rows(frame: DataFrame) -> dict[str, list[int]]:
    """Return the LSNs that match each condition, each by a scan of its own in one job."""
    scans = [
        frame.where(where).select(sf.lit(where).alias("where"), "__lsn") for where in CONDITIONS
    ]
    found: dict[str, list[int]] = {}
    for row in reduce(DataFrame.union, scans).collect():
        found.setdefault(row["where"], []).append(row["__lsn"])
    return {where: sorted(numbers) for where, numbers in found.items()}


def test_spark_reads_and_writes_tables_of_delta_rs(spark: SparkSession, tmp_path: Path) -> None:
    tables = NativeTables(Lake(str(tmp_path)))
    table = LakeTable(
        str(tmp_path / "changes" / "a!20b"),
        SCHEMA,
        partition_by=("source",),
        statistics=("__lsn", "gtid", "i8"),
        properties={"delta.checkpointInterval": "4"},
    )
    files = []
    for first, source in enumerate(("s", None)):
        writer = DataFileWriter(table.reference, table, {"source": source})
        for number in range(first, 8, 2):
            writer.write(rows(number))
        files.append(writer.close())
    tables.append(table, None, Step("a", 1), files)
    for step, chosen in ((2, (10, 11)), (3, (70,)), (4, (12, 13, 14)), (5, (15,))):
        tables.append(table, rows(*chosen), Step("a", step))
    everything = rows(*range(8), *range(10, 16), 70).sort_by("__lsn")
    assert by_spark(spark, table) == everything
    assert chosen_rows(delta.read(spark, table.reference)) == CONDITIONS
    assert spark_schema(SCHEMA) == delta.read(spark, table.reference).schema

    tables.delete(table, compare("__lsn", "<", 2), Step("d", 1))
    tables.update(table, equal("__lsn", 70), [constant("i16", 9)], Step("u", 1))
    # Spark's own operations: retention's DELETE, OPTIMIZE and VACUUM.
    name = f"delta.`{table.reference}`"
    spark.sql(f"DELETE FROM {name} WHERE __lsn = 2")
    spark.sql(f"OPTIMIZE {name}")
    spark.sql(f"VACUUM {name}")
    expected = rows(*range(3, 8), *range(10, 16), 70).to_pylist()
    expected[-1]["i16"] = 9
    found = tables.read(table).sort_by("__lsn")
    assert found == by_spark(spark, table) == pa.Table.from_pylist(expected, schema=SCHEMA)

    # Files written by Spark can be rewritten by delta-rs again.
    assert not tables.append(table, rows(1), Step("a", 5))
    assert tables.delete(table, equal("__lsn", 4), Step("d", 2))
    assert tables.update(table, equal("__lsn", 6), [constant("i16", 8)], Step("u", 2))
    assert tables.append(table, rows(99), Step("a", 6))
    found = tables.read(table).sort_by("__lsn")
    assert found == by_spark(spark, table)
    assert found.column("__lsn").to_pylist() == [3, 5, 6, 7, *range(10, 16), 70, 99]


def test_cells_of_many_megabytes_are_read_by_spark(spark: SparkSession, tmp_path: Path) -> None:
    size = 16 << 20
    schema = pa.schema([("__lsn", pa.int64()), ("cell", pa.binary())])
    tables = NativeTables(Lake(str(tmp_path)))
    table = LakeTable(str(tmp_path / "big"), schema, statistics=("__lsn",))
    writer = DataFileWriter(table.reference, table)
    for number in range(3):
        cell = bytes([number, 255]) * (size // 2)
        writer.write(pa.Table.from_pylist([{"__lsn": number, "cell": cell}], schema=schema))
    tables.append(table, None, Step("a", 1), [writer.close()])
    session = child_session(spark, {"spark.sql.parquet.enableVectorizedReader": "false"})
    found = delta.read(session, table.reference).selectExpr("__lsn", "length(cell)", "md5(cell)")
    whole = delta.read(session, table.reference).where("__lsn = 1").select("cell").collect()
    assert sorted(row[1] for row in found.collect()) == [size] * 3
    assert bytes(whole[0]["cell"]) == bytes([1, 255]) * (size // 2)


@pytest.mark.parametrize(
    "change",
    [
        "SET TBLPROPERTIES ('delta.enableInCommitTimestamps' = 'true')",
        "SET TBLPROPERTIES ('delta.enableTypeWidening' = 'true')",
        "SET TBLPROPERTIES ('delta.enableDeletionVectors' = 'true')",
        "CLUSTER BY (n)",
    ],
)
def test_an_altered_table_is_an_error_with_a_remedy(
    spark: SparkSession, tmp_path: Path, change: str
) -> None:
    table = LakeTable(f"{tmp_path}/altered", ROW, statistics=("n",))
    tables = NativeTables(Lake(str(tmp_path)))
    row = pa.table({"n": [1]}, schema=ROW)
    tables.append(table, row, Step("a", 1))
    tables.append(table, row, Step("a", 2))
    spark.sql(f"ALTER TABLE delta.`{table.reference}` {change}")
    asked: list[Callable[[], object]] = [
        lambda: tables.read(table),
        lambda: tables.append(table, row, Step("a", 3)),
        lambda: tables.delete(table, equal("n", 1), Step("d", 1)),
        lambda: tables.compact(table, "upkeep"),
        lambda: tables.vacuum(table, "upkeep"),
    ]
    for ask in asked:
        with pytest.raises(AlteredTableError, match=r"has Delta table features .*DROP FEATURE"):
            ask()
    # Its log can be read, as gold's are.
    state = tables.state(table)
    assert state is not None
    assert (state.files, state.rows, tables.old_files(table)) == (2, 2, 0)
    assert tables.history(table, 1)[0].operation in ("SET TBLPROPERTIES", "CLUSTER BY")
