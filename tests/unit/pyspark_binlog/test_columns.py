"""The union of a table's definitions, and the form of images in JSON."""

from __future__ import annotations

import json
from datetime import date, datetime, timezone
from decimal import Decimal
from typing import Any

import pyarrow as pa
import pytest

from decoder import TypeOptions
from decoder.constants import ColumnType as T
from decoder.model.definition import ColumnDefinition, TableDefinition
from pipeline.errors import SettingsError
from pyspark_binlog.columns import common_type, require_columns, united
from pyspark_binlog.envelope import image_json

PLAIN = TypeOptions()
BIG = pa.decimal128(38, 30)


@pytest.mark.parametrize(
    ("one", "other", "common"),
    [
        (pa.int8(), pa.int8(), pa.int8()),
        (pa.int16(), pa.int64(), pa.int64()),
        (pa.float32(), pa.float64(), pa.float64()),
        (pa.int32(), pa.decimal128(12, 2), pa.decimal128(12, 2)),
        (pa.int64(), pa.decimal128(20, 0), pa.decimal128(20, 0)),
        (pa.decimal128(10, 4), pa.decimal128(12, 2), pa.decimal128(14, 4)),
        (pa.int64(), BIG, pa.string()),
        (pa.int32(), pa.string(), pa.string()),
        (pa.date32(), pa.string(), pa.string()),
        (pa.float64(), pa.string(), None),
        (pa.int64(), pa.float64(), None),
        (pa.binary(), pa.string(), None),
        (pa.timestamp("us"), pa.timestamp("us", "UTC"), None),
    ],
)
def test_a_common_type_holds_every_value_of_both(
    one: pa.DataType, other: pa.DataType, common: pa.DataType | None
) -> None:
    assert common_type(one, other) == common_type(other, one) == common


def table(**columns: T) -> TableDefinition:
    found = (ColumnDefinition(name, kind, length_bytes=1) for name, kind in columns.items())
    return TableDefinition("shop", "t", tuple(found))


def test_columns_are_in_the_last_definitions_order_with_dropped_ones_at_the_end() -> None:
    definitions = [table(a=T.SHORT, gone=T.LONG, b=T.LONG), table(b=T.LONG, a=T.LONG)]
    found = united(definitions, PLAIN, None)
    assert found == pa.struct({"b": pa.int32(), "a": pa.int32(), "gone": pa.int32()})


def test_columns_are_those_chosen_in_the_order_chosen() -> None:
    definitions = [table(a=T.LONG, b=T.LONG, c=T.DOUBLE), table(a=T.LONG, b=T.LONG, c=T.LONG)]
    assert united(definitions, PLAIN, ["b", "a"]) == pa.struct({"b": pa.int32(), "a": pa.int32()})
    with pytest.raises(SettingsError, match=r"column c of shop.t was double and int32"):
        united(definitions, PLAIN, None)


@pytest.mark.parametrize(
    ("schema", "typed"),
    [
        (pa.schema({"__lsn": pa.int64(), "other": pa.int64()}), True),
        (pa.schema({"after": pa.string()}), True),
        (pa.schema({"__table": pa.string()}), True),
        (pa.schema({"after": pa.struct({"id": pa.int32()})}), False),
    ],
)
def test_a_schema_that_is_not_one_of_changes_is_refused(schema: pa.Schema, typed: bool) -> None:
    with pytest.raises(SettingsError):
        require_columns(schema, typed=typed)


@pytest.mark.parametrize(
    ("kind", "value", "written"),
    [
        (pa.int64(), -(2**63), -(2**63)),
        (pa.bool_(), True, True),
        (pa.float64(), 1e300, 1e300),
        (pa.float32(), -0.5, -0.5),
        (pa.decimal128(20, 2), Decimal("12.50"), "12.50"),
        (pa.string(), "größe", "größe"),
        (pa.string(), 'a "quoted"\\\n\x01\u2028 text', 'a "quoted"\\\n\x01\u2028 text'),
        (pa.string(), "", ""),
        (pa.binary(), b"\x00\xff", "00ff"),
        (pa.date32(), date(2024, 2, 29), "2024-02-29"),
        (pa.timestamp("us"), datetime(2024, 2, 29, 1, 2, 3, 4), "2024-02-29T01:02:03.000004"),
        (
            pa.timestamp("us", "UTC"),
            datetime(2024, 2, 29, 1, 2, 3, tzinfo=timezone.utc),
            "2024-02-29T01:02:03.000000+00:00",
        ),
        (pa.list_(pa.float32()), [1.5, float("inf")], [1.5, "inf"]),
        (
            pa.struct({"srid": pa.int32(), "wkb": pa.binary()}),
            {"srid": 4326, "wkb": b"\x01"},
            {"srid": 4326, "wkb": "01"},
        ),
    ],
)
def test_an_image_is_a_json_object(kind: pa.DataType, value: Any, written: Any) -> None:
    rows = [{'a "b"': value, "n": 1}, {'a "b"': None, "n": None}, None]
    image = pa.array(rows, pa.struct({'a "b"': kind, "n": pa.int8()}))
    found = image_json(image)
    assert [text and json.loads(text) for text in found.to_pylist()] == [
        {'a "b"': written, "n": 1},
        {'a "b"': None, "n": None},
        None,
    ]
    assert image_json(image.slice(1)).to_pylist() == found.to_pylist()[1:]
