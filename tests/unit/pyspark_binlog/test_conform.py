"""Changes in the DataFrame's schema: each value as it was logged, or an error."""

from __future__ import annotations

from decimal import Decimal
from types import SimpleNamespace
from typing import Any

import pyarrow as pa
import pytest

from pyspark_binlog.conform import Conformer, ForeignColumnError

FLOAT, DOUBLE = pa.float32(), pa.float64()


def conformed(value: Any, logged: pa.DataType, wanted: pa.DataType) -> Any:
    """Return a value of a type in a DataFrame whose column has another one."""
    cells = pa.array([value, None], logged)
    image = pa.StructArray.from_arrays([cells], ["v"], mask=pa.array([False, False]))
    columns = {"__file": pa.array(["binlog.000001"] * 2), "__pos": pa.array([4, 4])}
    batch = pa.RecordBatch.from_pydict({**columns, "after": image})
    changes: Any = SimpleNamespace(batch=batch, definition="shop.orders")
    schema = pa.schema([pa.field("after", pa.struct([pa.field("v", wanted)]))])
    first, second = Conformer(schema)(changes).column("after").to_pylist()
    assert second == {"v": None}
    return first["v"]


@pytest.mark.parametrize(
    ("value", "logged", "wanted", "expected"),
    [
        (7, pa.int32(), pa.int64(), 7),
        (7, pa.int64(), pa.int32(), 7),
        (0.1, FLOAT, DOUBLE, pytest.approx(0.1)),
        (0.5, DOUBLE, FLOAT, 0.5),
        (Decimal("1.10"), pa.decimal128(10, 2), pa.string(), "1.10"),
        (Decimal("1E-8"), pa.decimal128(12, 8), pa.string(), "0.00000001"),
        (Decimal(0), pa.decimal128(12, 8), pa.string(), "0.00000000"),
        (7, pa.int32(), pa.decimal128(12, 2), Decimal(7)),
        ("7", pa.string(), pa.int32(), 7),
    ],
)
def test_a_value_that_the_column_holds_is_kept(
    value: Any, logged: pa.DataType, wanted: pa.DataType, expected: Any
) -> None:
    assert conformed(value, logged, wanted) == expected


@pytest.mark.parametrize(
    ("value", "logged", "wanted"),
    [
        (0.1, DOUBLE, FLOAT),
        ("007", pa.string(), pa.int32()),
        ("0.10", pa.string(), DOUBLE),
        (1 << 40, pa.int64(), pa.int32()),
        (Decimal("12345678901234567.89"), pa.decimal128(20, 2), DOUBLE),
    ],
)
def test_a_value_that_the_column_would_change_is_an_error(
    value: Any, logged: pa.DataType, wanted: pa.DataType
) -> None:
    with pytest.raises(ForeignColumnError, match=r"position 4, table shop.orders: column v is"):
        conformed(value, logged, wanted)
