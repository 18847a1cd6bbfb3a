"""The choice of column readers, and the Arrow type of a table's rows."""

from __future__ import annotations

import pickle

import pyarrow as pa
import pytest

from decoder import BinlogError, TableDefinition, TypeOptions
from decoder.columns.cells import CellError
from decoder.columns.registry import LossyKeyError, reader, row_type
from decoder.constants import ColumnType as T
from decoder.errors import UnsupportedError
from tests.support.decoder.cells import cells, column

TYPES = [
    (column(T.TINY), pa.int8()),
    (column(T.LONGLONG, unsigned=True), pa.decimal128(20, 0)),
    (column(T.YEAR), pa.int16()),
    (column(T.FLOAT), pa.float32()),
    (column(T.NEWDECIMAL, precision=38, scale=30), pa.decimal128(38, 30)),
    (column(T.NEWDECIMAL, precision=39, scale=2), pa.string()),
    (column(T.BIT, length=1), pa.bool_()),
    (column(T.BIT, length=63), pa.int64()),
    (column(T.BIT, length=64), pa.decimal128(20, 0)),
    (column(T.DATE), pa.date32()),
    (column(T.DATETIME2, fraction=6), pa.timestamp("us")),
    (column(T.TIMESTAMP2), pa.timestamp("us", "UTC")),
    (column(T.TIME2, fraction=3), pa.string()),
    (column(T.STRING, length=9, length_bytes=1, collation=63), pa.binary()),
    (column(T.BLOB, length_bytes=2, collation=255), pa.string()),
    (column(T.ENUM, length=1, labels=("a",)), pa.string()),
    (column(T.JSON, length_bytes=4), pa.string()),
    (column(T.GEOMETRY, length_bytes=4), pa.struct([("srid", pa.int32()), ("wkb", pa.binary())])),
    (column(T.VECTOR, length_bytes=4), pa.list_(pa.float32())),
]


def test_row_type_has_each_column_s_arrow_type() -> None:
    definition = TableDefinition("s", "t", tuple(definition for definition, _ in TYPES))
    row = row_type(definition, TypeOptions())
    assert [field.type for field in row] == [arrow_type for _, arrow_type in TYPES]
    assert all(field.nullable for field in row)


@pytest.mark.parametrize("options", [TypeOptions(time="micros"), TypeOptions(zero_dates="string")])
def test_options_change_temporal_types(options: TypeOptions) -> None:
    dates = [reader(column(kind), options).arrow_type for kind in (T.DATE, T.DATETIME2)]
    text = options.zero_dates == "string"
    assert dates == ([pa.string()] * 2 if text else [pa.date32(), pa.timestamp("us")])
    time = reader(column(T.TIME2), options).arrow_type
    assert time == (pa.int64() if options.time == "micros" else pa.string())


@pytest.mark.parametrize("kind", [T.NULL, T.TYPED_ARRAY, T.INVALID])
def test_the_error_for_an_unsupported_type_names_it(kind: T) -> None:
    with pytest.raises(UnsupportedError, match=kind.name):
        reader(column(kind), TypeOptions())


@pytest.mark.parametrize(("definition", "arrow_type"), TYPES)
@pytest.mark.parametrize("nulls", [0, 5])
def test_reads_columns_without_rows_and_of_nulls(
    definition: object, arrow_type: object, nulls: int
) -> None:
    found = reader(definition, TypeOptions()).read(cells([None] * nulls))
    found.array.validate(full=True)
    assert found.array.to_pylist() == [None] * nulls
    assert found.array.type == arrow_type


def test_a_lossy_key_value_raises() -> None:
    key = reader(column(T.DATE), TypeOptions(), key=True)
    assert key.arrow_type == pa.date32()
    assert key.read(cells([b"\x21\xe8\x0f"])).array.to_pylist()
    with pytest.raises(LossyKeyError) as caught:
        key.read(cells([b"\x21\xe8\x0f", bytes(3)]))
    assert caught.value.row == 1


def test_a_cell_error_survives_pickle() -> None:
    error = CellError(7, "wrong").at(file="binlog.000001", position=4)
    copy = pickle.loads(pickle.dumps(error))
    assert isinstance(copy, BinlogError)
    assert (copy.row, str(copy)) == (7, "binlog.000001, position 4: wrong")
