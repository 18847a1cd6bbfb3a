"""Conditions match the same rows in pyarrow and in Spark."""

from __future__ import annotations

from collections.abc import Sequence

import pytest
from hypothesis import HealthCheck, given, settings, strategies as st
from pyspark.sql import SparkSession, functions as sf

from pipeline.lake.delta_log.conditions import (
    ALL_ROWS,
    NO_ROWS,
    Condition,
    among,
    any_of,
    compare,
    missing,
    only_one,
)
from pipeline.lake.delta_log.model import LakeTable
from pipeline.lake.delta_log.spark_types import spark_schema
from pipeline.lake.tables.native import NativeTables
from tests.support.lake.condition_rows import SCHEMA, VALUES, native_table, table_rows

COMPARISONS = ("=", "<", "<=", ">", ">=")


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
    return native_table(str(tmp_path_factory.mktemp("lake")))


@settings(max_examples=4, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.lists(conditions(), min_size=60, max_size=60))
def test_conditions_match_the_same_rows_in_both(
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
