"""A condition means the same rows to pyarrow and to Spark."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import date
from itertools import product

import pyarrow as pa
import pytest
from hypothesis import HealthCheck, given, settings, strategies as st
from pyspark.sql import SparkSession, functions as sf

from pipeline.lake import Lake
from pipeline.lake_tables import delta_rs
from pipeline.lake_tables.conditions import (
    ALL_ROWS,
    NO_ROWS,
    Condition,
    Value,
    among,
    any_of,
    compare,
    missing,
    only_one,
)
from pipeline.lake_tables.native import NativeTables
from pipeline.lake_tables.scanning import scan
from pipeline.lake_tables.spark_types import spark_schema
from pipeline.lake_tables.table import LakeTable, Step

SCHEMA = pa.schema(
    [
        ("id", pa.int64()),
        ("n", pa.int64()),
        ("k", pa.int32()),
        ("a `b`", pa.string()),
        ("flag", pa.bool_()),
        ("day", pa.date32()),
        ("texts", pa.list_(pa.string())),
    ]
)
VALUES: dict[str, tuple[Value, ...]] = {
    "n": (-1, 3, 1 << 40),
    "k": (-1, 3),
    "a `b`": ("", "it's \\ü", "b"),
    "flag": (True, False),
    "day": (date(1969, 12, 31), date(2024, 2, 29)),
}
LISTS = (None, [], [None], ["b"], ["it's \\ü"], ["b", "b"])
COMPARISONS = ("=", "<", "<=", ">", ">=")


def table_rows() -> pa.Table:
    """Each value with each of every second other column, nulls among them."""
    together = product(*((None, *VALUES[name]) for name in ("n", "a `b`", "flag")), LISTS)
    days = (None, *VALUES["day"])
    rows = [
        (number, n, (None, *VALUES["k"])[number % 3], text, flag, days[number % 5 % 3], texts)
        for number, (n, text, flag, texts) in enumerate(together)
    ]
    columns = [list(column) for column in zip(*rows, strict=True)]
    return pa.table(columns, schema=SCHEMA)


def simple() -> st.SearchStrategy[Condition]:
    columns = st.sampled_from(sorted(VALUES))
    compared = columns.flatmap(
        lambda name: st.builds(
            compare, st.just(name), st.sampled_from(COMPARISONS), st.sampled_from(VALUES[name])
        )
    )
    listed = columns.flatmap(
        lambda name: st.builds(among, st.just(name), st.lists(st.sampled_from(VALUES[name])))
    )
    texts = st.lists(st.sampled_from(["b", "it's \\ü", "c"]))
    alone = st.builds(only_one, st.just("texts"), texts)
    absent = st.builds(missing, st.sampled_from([*VALUES, "texts"]))
    return st.one_of(compared, listed, alone, absent, st.sampled_from([ALL_ROWS, NO_ROWS]))


def conditions() -> st.SearchStrategy[Condition]:
    return st.recursive(
        simple(),
        lambda inner: st.one_of(
            st.builds(lambda one, other: one & other, inner, inner),
            st.builds(lambda one, other: one | other, inner, inner),
            st.builds(lambda one: ~one, inner),
            st.lists(inner, max_size=3).map(any_of),
        ),
        max_leaves=6,
    )


@pytest.fixture(scope="module")
def native(tmp_path_factory: pytest.TempPathFactory) -> tuple[NativeTables, LakeTable]:
    """The rows in several files, so that some are left out."""
    root = str(tmp_path_factory.mktemp("lake"))
    statistics = ("n", "k", "a `b`")
    tables, table = NativeTables(Lake(root)), LakeTable(f"{root}/t", SCHEMA, statistics=statistics)
    rows = table_rows().sort_by("n")
    for number in range(0, len(rows), 60):
        tables.append(table, rows.slice(number, 60), Step("a", number))
    return tables, table


@settings(
    max_examples=4, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture]
)
@given(st.lists(conditions(), min_size=60, max_size=60))
def test_conditions_mean_the_same_rows_to_both(
    spark: SparkSession, native: tuple[NativeTables, LakeTable], chosen: Sequence[Condition]
) -> None:
    tables, table = native
    frame = spark.createDataFrame(table_rows(), spark_schema(SCHEMA))
    asked = [
        sf.collect_list(sf.when(sf.expr(condition.sql), sf.col("id"))).alias(f"c{number}")
        for number, condition in enumerate(chosen)
    ]
    (by_spark,) = frame.agg(*asked).collect()
    for condition, found in zip(chosen, by_spark, strict=True):
        rows = tables.read(table, condition, ["id"]).column("id").to_pylist()
        assert sorted(rows) == sorted(found), condition.sql


def test_the_files_that_statistics_exclude_are_not_read(
    native: tuple[NativeTables, LakeTable],
) -> None:
    _, table = native
    opened = delta_rs.opened(table.reference, {})
    assert opened is not None
    files = scan(table, opened, {})
    for where in (among("n", [1 << 40]), compare("n", "<", 0), among("a `b`", ["none"])):
        assert len(list(files.files(where))) < len(files.entries)
