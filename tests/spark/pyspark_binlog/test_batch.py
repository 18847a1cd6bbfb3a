"""DataFrames of binary logs, compared with silver's tables of the same files.

Nothing is registered by hand: Spark finds the format on the path of its Python.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from functools import reduce

import pytest
from chispa import assert_df_equality
from pyspark.sql import Column, DataFrame, Row, SparkSession, functions as sf

from pipeline.bronze import job as bronze
from pipeline.errors import SettingsError
from pipeline.lake import Lake, delta
from pipeline.observe.progress import QuietProgress
from pipeline.settings import Settings
from pipeline.silver import job as silver
from pyspark_binlog import register
from tests.support.bronze.bronze_input import FILES
from tests.support.spark.binlog_rows import rows_of
from tests.support.spark.no_spark import NEVER_STARTED

BINLOGS = str(FILES[0].parent)
PLACE = ("__lsn", "__pos", "__row")


@pytest.fixture(scope="module")
def lake(tmp_path_factory: pytest.TempPathFactory) -> Lake:
    """Return a lake with silver of the same files."""
    root = str(tmp_path_factory.mktemp("lake"))
    settings = Settings.load(None, source="shop", binlogs=BINLOGS, lake=root)
    bronze.run(NEVER_STARTED, settings, QuietProgress())
    silver.run(NEVER_STARTED, settings, QuietProgress())
    return Lake(root)


def read(spark: SparkSession, path: str = BINLOGS, **options: object) -> DataFrame:
    return spark.read.format("binlog").options(**options).load(path)


def flat(changes: DataFrame, columns: Sequence[str]) -> DataFrame:
    """Return the changes with a column for each of the images', null for those that they lack."""
    cells = [
        (sf.col(image)[name] if name in changes.schema[image].dataType.names else sf.lit(None))
        .cast("string")
        .alias(f"{image}_{name}")
        for image in ("before", "after")
        for name in columns
    ]
    header = [name for name in changes.columns if name.startswith("__")]
    return changes.select(*header, *cells)


def silvers(spark: SparkSession, lake: Lake, table: str, version: int = 1) -> DataFrame:
    return delta.read(spark, lake.changes("shop", table, version))


def test_rows_and_schema_are_silvers(spark: SparkSession, lake: Lake) -> None:
    changes, expected = read(spark, table="shop.products"), silvers(spark, lake, "products")
    assert changes.schema == expected.schema
    assert_df_equality(changes.orderBy(*PLACE), expected.orderBy(*PLACE))


def test_rows_of_all_definitions_are_silvers(spark: SparkSession, lake: Lake) -> None:
    changes = read(spark, table="shop.orders")
    columns = changes.schema["after"].dataType.names
    versions = [flat(silvers(spark, lake, "orders", version), columns) for version in (1, 2)]
    expected = reduce(DataFrame.unionByName, versions)
    assert_df_equality(
        flat(changes, columns).orderBy(*PLACE), expected.orderBy(*PLACE), ignore_nullable=True
    )


def test_options_choose_columns_images_and_partitions(spark: SparkSession) -> None:
    whole = read(spark, table="shop.orders").select("__op", *PLACE, "after.total", "after.id")
    chosen = read(
        spark, table="shop.orders", columns="total, id", images="after", segmentBytes="100000"
    )
    assert "before" not in chosen.columns
    assert chosen.schema["after"].dataType.names == ["total", "id"]
    assert chosen.rdd.getNumPartitions() > len(FILES)
    assert_df_equality(
        chosen.select("__op", *PLACE, "after.total", "after.id").orderBy(*PLACE),
        whole.orderBy(*PLACE),
    )


def test_without_a_table_rows_are_those_of_all_as_json(spark: SparkSession, lake: Lake) -> None:
    every = spark.read.format("binlog").load([str(file) for file in FILES])
    assert {row["name"] for row in tables(every)} == {
        "shop.customers",
        "shop.order_items",
        "shop.orders",
        "shop.payments",
        "shop.products",
    }
    expected = silvers(spark, lake, "products")
    header = [name for name in expected.columns if name.startswith("__")]
    of_json = every.where("__table = 'products'").select(
        *header, parsed("before", expected), parsed("after", expected)
    )
    assert_df_equality(of_json.orderBy(*PLACE), expected.orderBy(*PLACE), ignore_nullable=True)


def tables(every: DataFrame) -> list[Row]:
    return every.select(sf.concat_ws(".", "__schema", "__table").alias("name")).distinct().collect()


def parsed(image: str, typed: DataFrame) -> Column:
    return sf.from_json(image, typed.schema[image].dataType).alias(image)


def test_filters_are_pushed_down_once_registered(spark: SparkSession) -> None:
    own = spark.newSession()
    register(own)
    every = rows_of(BINLOGS, table="shop.orders")
    last_files = min(row["__committed_at"] for row in every if row["__file"] == FILES[-1].name)
    chosen = read(own, table="shop.orders").where(
        (sf.col("__lsn") >= 2 << 40)
        & sf.col("__op").isin("update", "delete")
        & (sf.col("__committed_at") < sf.lit(last_files))
        & (sf.col("after.status") == "paid")
    )
    plan = chosen._jdf.queryExecution().executedPlan().toString()
    evaluated_by_spark = [line for line in plan.splitlines() if "Filter" in line.split("[")[0]]
    assert "status" in plan
    assert not re.search(r"__(lsn|op|committed_at)", "".join(evaluated_by_spark))
    # Without the first file by LSN, without the last one by time.
    assert chosen.rdd.getNumPartitions() == len(FILES) - 2
    expected = [
        tuple(row[name] for name in PLACE)
        for row in every
        if row["__file"] in {file.name for file in FILES[1:-1]}
        and row["__op"] != "insert"
        and row["after"]["status"] == "paid"
    ]
    assert [tuple(row) for row in chosen.select(*PLACE).orderBy(*PLACE).collect()] == expected
    assert expected


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"tabel": "shop.orders"}, "Did you mean table?"),
        ({"table": "orders"}, "is not schema.table"),
        ({"table": "shop.order"}, "Did you mean shop.orders?"),
        ({"table": "shop.orders", "columns": "id,totl"}, "has no column totl"),
        ({"columns": "id"}, "columns needs table"),
        ({"table": "shop.orders", "segmentBytes": "many"}, "segmentBytes"),
    ],
)
def test_a_wrong_option_is_refused(options: dict[str, str], message: str) -> None:
    with pytest.raises(SettingsError, match=re.escape(message)):
        rows_of(BINLOGS, **options)
