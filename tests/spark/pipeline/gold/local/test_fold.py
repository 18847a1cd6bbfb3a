"""Few changes are folded at the driver with the same result as in Spark."""

from __future__ import annotations

from dataclasses import replace
from datetime import datetime, timezone
from random import Random
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
import pytest
from pyspark.sql import SparkSession, functions as sf, types as st

from pipeline.gold.changes.change_stats import change_stats
from pipeline.gold.changes.drift import drift
from pipeline.gold.changes.fold import DELETE, Shape, fold
from pipeline.gold.changes.images import LeftOut
from pipeline.gold.changes.small_batch import at_driver, local
from pipeline.gold.local.drift import drift_here
from pipeline.gold.local.fold import can_fold, fold_here
from tests.support.gold.random_changes import (
    COLUMNS,
    SHAPES,
    SILVER,
    history,
    image,
    silver_rows,
    silver_type,
)


def rows_of(rows: pa.Table) -> list[str]:
    return sorted(map(repr, rows.to_pylist()))


@pytest.mark.parametrize(
    ("name", "row", "parts"),
    [*((name, "int", 1) for name in SHAPES), ("in another order", "bigint", 4)],
    ids=[*SHAPES, "cascaded, in parts"],
)
def test_folding_at_the_driver_equals_folding_in_spark(
    spark: SparkSession, name: str, row: str, parts: int
) -> None:
    shape = SHAPES[name]
    logged = history(shape, len(name))
    made = spark.createDataFrame(logged, SILVER).repartition(parts)
    changes = made.withColumn("__row", sf.col("__row").cast(row))
    rows = silver_rows(logged)
    if parts > 1:
        brought = at_driver(changes, 1000)
        assert brought is not None
        assert rows_of(brought) == rows_of(rows)
        rows = brought
    assert can_fold(rows, changes.schema, shape)
    folded = fold_here(rows, changes.schema, shape)
    assert folded.stats == change_stats(changes, shape, LeftOut())
    assert folded.stats.key_changes > 0
    wanted = fold(changes, shape)
    assert folded.schema.names == folded.rows.column_names == wanted.columns
    assert [f.dataType for f in folded.schema] == [f.dataType for f in wanted.schema]
    assert rows_of(folded.rows) == rows_of(wanted.toArrow())
    assert 2 <= folded.rows.num_rows < rows.num_rows


@pytest.mark.parametrize("name", SHAPES)
def test_drift_at_the_driver_equals_drift_in_spark(spark: SparkSession, name: str) -> None:
    shape = SHAPES[name]
    changes, kind = silver_rows(history(shape, len(name))), silver_type()
    first, last = (changes.filter(pc.field("__lsn") == lsn) for lsn in (1, 3))
    # Gold lacks what is between them.
    folded = fold_here(first, kind, shape)
    gold = folded.rows.filter(~pc.field(DELETE)).drop_columns(DELETE)
    schema = st.StructType([field for field in folded.schema if field.name != DELETE])
    found = drift_here(last, shape, gold)
    frames = (local(spark, spark, last, kind), local(spark, spark, gold, schema))
    assert found == drift(frames[0], shape, frames[1])
    assert found.found > 0
    assert drift_here(changes, shape, gold.slice(0, 0)).found == 0


CHANGE = ("insert", 1, 0, 0, datetime(2024, 1, 1, tzinfo=timezone.utc), None, image(Random(0)))
WHOLE = Shape(COLUMNS, ("id",))


@pytest.mark.parametrize(
    ("shape", "left_out"),
    [
        (Shape(COLUMNS, ("f",)), (None, None, None)),  # 0.0 and -0.0 are one key
        (Shape(COLUMNS, ("yes",)), (None, None, None)),
        (replace(WHOLE, given=frozenset({"id"})), (None, None, None)),
        (replace(WHOLE, unique=False), (None, None, None)),
        (WHOLE, (["t"], None, None)),
        (WHOLE, (None, ["t"], None)),
        (WHOLE, (None, None, {"t": "[]"})),
    ],
    ids=["float", "boolean", "given", "not unique", "before", "after", "diff"],
)
@pytest.mark.usefixtures("spark")
def test_cases_that_cannot_be_folded_here_are_left_to_spark(
    shape: Shape, left_out: tuple[Any, ...]
) -> None:
    assert not can_fold(silver_rows([(*CHANGE, *left_out)]), silver_type(), shape)
