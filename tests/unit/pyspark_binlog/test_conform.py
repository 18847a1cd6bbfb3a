"""Changes in the DataFrame's schema: each value as it was logged, or an error."""

from __future__ import annotations

from datetime import date, datetime
from decimal import Decimal
from types import SimpleNamespace
from typing import Any

import pyarrow as pa
import pytest

from pyspark_binlog.conform import Conformer, ForeignColumnError

FLOAT, DOUBLE = pa.float32(), pa.float64()


def conformed(value: Any, logged: pa.DataType, wanted: pa.DataType, *, exact: bool) -> Any:
    """Return a value of a type in a DataFrame whose column has another one."""
    cells = pa.array([value, None], logged)
    image = pa.StructArray.from_arrays([cells], ["v"], mask=pa.array([False, False]))
    columns = {"__file": pa.array(["binlog.000001"] * 2), "__pos": pa.array([4, 4])}
    batch = pa.RecordBatch.from_pydict({**columns, "after": image})
    changes: Any = SimpleNamespace(batch=batch, definition="shop.orders")
    schema = pa.schema([pa.field("after", pa.struct([pa.field("v", wanted)]))])
    first, second = Conformer(schema, exact=exact)(changes).column("after").to_pylist()
    assert second == {"v": None}
    return first["v"]


@pytest.mark.parametrize("exact", [True, False])
@pytest.mark.parametrize(
    ("value", "logged", "wanted", "expected"),
    [
        (7, pa.int32(), pa.int64(), 7),
        (7, pa.int64(), pa.int32(), 7),
        (0.5, FLOAT, DOUBLE, 0.5),
        (Decimal("1.10"), pa.decimal128(10, 2), pa.string(), "1.10"),
        (Decimal("0.000001"), pa.decimal128(10, 6), pa.string(), "0.000001"),
        (Decimal("0.00000001"), pa.decimal128(12, 8), pa.string(), "0.00000001"),
        (Decimal(0), pa.decimal128(12, 8), pa.string(), "0.00000000"),
        (Decimal("1.10"), pa.decimal128(10, 2), pa.decimal128(12, 4), Decimal("1.10")),
        (7, pa.int32(), pa.decimal128(12, 2), Decimal(7)),
    ],
)
def test_a_value_that_the_column_holds_is_kept(
    value: Any, logged: pa.DataType, wanted: pa.DataType, expected: Any, *, exact: bool
) -> None:
    assert conformed(value, logged, wanted, exact=exact) == expected


@pytest.mark.parametrize("exact", [True, False])
@pytest.mark.parametrize(
    ("value", "logged", "wanted"),
    [
        (1 << 40, pa.int64(), pa.int32()),
        (Decimal("1.15"), pa.decimal128(10, 2), pa.decimal128(10, 1)),
        ("x", pa.string(), pa.int32()),
    ],
)
def test_a_value_that_the_column_cannot_hold_is_an_error(
    value: Any, logged: pa.DataType, wanted: pa.DataType, *, exact: bool
) -> None:
    with pytest.raises(ForeignColumnError, match=r"position 4, table shop.orders: column v is"):
        conformed(value, logged, wanted, exact=exact)


@pytest.mark.parametrize(
    ("value", "logged", "wanted", "changed"),
    [
        (0.1, DOUBLE, FLOAT, pytest.approx(0.1)),
        ("007", pa.string(), pa.int32(), 7),
        ("1.0", pa.string(), DOUBLE, 1.0),
        ("0.00000001", pa.string(), pa.decimal128(12, 8), Decimal("0.00000001")),
        (Decimal("0.10"), pa.decimal128(10, 2), FLOAT, pytest.approx(0.1)),
        (datetime(2026, 1, 2, 3), pa.timestamp("us"), pa.date32(), date(2026, 1, 2)),
    ],
)
def test_only_a_schema_of_the_user_changes_values(
    value: Any, logged: pa.DataType, wanted: pa.DataType, changed: Any
) -> None:
    """A stream keeps the schema that the log had when it started."""
    assert conformed(value, logged, wanted, exact=False) == changed
    with pytest.raises(ForeignColumnError, match=r"shop.orders: column v is"):
        conformed(value, logged, wanted, exact=True)
