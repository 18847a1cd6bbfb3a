from __future__ import annotations

import json
from dataclasses import replace

import pyarrow as pa
import pytest
from pyspark.sql import types as st

from decoder import TableDefinition
from decoder.constants import ColumnType
from decoder.model.definition import ColumnDefinition
from pipeline.bronze.executed_gtids import ExecutedGtids
from pipeline.lake.delta_log.spark_types import spark_schema, spark_type
from pipeline.schema_history.alter.items import TimelineItem
from pipeline.silver.decode.table_names import TableNames
from pipeline.silver.plan.batch_plan import Retried, SilverPlan, planned_tables
from pipeline.source import GtidSet
from pipeline.source.server.version import server_number

T = TableDefinition(
    "s", "t", (ColumnDefinition("id", ColumnType.LONG, nullable=False),), (0,), (0,)
)
HIDDEN = replace(T, columns=(replace(T.columns[0], visible=False),))


def test_a_plan_is_read_back_from_the_ledger() -> None:
    plan = SilverPlan(
        start=(1, 0),
        end=(3, 70),
        last_lsn=3 << 40 | 50,
        from_start=True,
        tables=planned_tables([(T, 1), (replace(T, table="u"), 2)]),
        items=(TimelineItem(5, 6, "s", "t", "create", 1, T, None, "CREATE …"),),
        faults=({"__lsn": 5, "__pos": 6, "tables": ["s.t"]},),
        retried=(Retried(1, 0, (5, 7)),),
        names=TableNames({"c1": (((5, 6), T),)}),
        seen={(1, 100): "u:1-3"},
        executed=ExecutedGtids(GtidSet.of("u:1-9"), GtidSet.of("0-1-5"), GtidSet.of("u:4-9")),
    )
    assert SilverPlan.from_body(json.loads(json.dumps(plan.to_body()))) == plan


def test_definitions_of_one_version_share_a_table() -> None:
    tables = planned_tables([(T, 1), (HIDDEN, 1), (T, 1), (replace(T, schema="x"), 1)])
    assert [(t.definition, t.table_id) for t in tables] == [
        (T, 0), (HIDDEN, 0), (replace(T, schema="x"), 1),
    ]  # fmt: skip


@pytest.mark.parametrize(
    ("arrow", "expected"),
    [
        (pa.decimal128(38, 3), "decimal(38,3)"),
        (pa.timestamp("us"), "timestamp_ntz"),
        (pa.timestamp("us", "UTC"), "timestamp"),
        (pa.struct([("srid", pa.int32()), ("wkb", pa.binary())]), "struct<srid:int,wkb:binary>"),
        (pa.list_(pa.float32()), "array<float>"),
        (pa.map_(pa.string(), pa.string()), "map<string,string>"),
    ],
)
def test_spark_types(arrow: pa.DataType, expected: str) -> None:
    assert spark_type(arrow).simpleString() == expected


def test_an_unsupported_arrow_type_is_refused() -> None:
    with pytest.raises(TypeError, match="duration"):
        spark_type(pa.duration("s"))


def test_nullability_is_kept() -> None:
    schema = spark_schema(pa.schema([pa.field("a", pa.int8(), nullable=False)]))
    assert schema == st.StructType([st.StructField("a", st.ByteType(), False)])


@pytest.mark.parametrize(
    ("version", "number"),
    [
        ("9.7.4-2", (90704, False)),
        ("5.6.51-log", (50651, False)),
        ("10.11.6-MariaDB-log", (101106, True)),
        ("5.5.5-10.4.2-MariaDB", (100402, True)),
        ("", (None, False)),
    ],
)
def test_server_versions_are_numbers(version: str, number: tuple[int | None, bool]) -> None:
    assert server_number(version) == number
