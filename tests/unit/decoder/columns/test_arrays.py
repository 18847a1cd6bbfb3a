"""Arrays made from buffers equal those of `pa.array`, which is avoided as it imports pandas."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, strategies as st

from decoder.columns.arrays import integers, nullable_integers, repeated, strings

RECORDING = Path(__file__).parents[3] / "data" / "plain.binlog"
INT32 = st.integers(-(1 << 31), (1 << 31) - 1)
INT64 = st.integers(-(1 << 63), (1 << 63) - 1)


def same(array: pa.Array, expected: pa.Array) -> bool:
    array.validate(full=True)
    return bool(array.equals(expected)) and array.null_count == expected.null_count


@given(texts=st.lists(st.none() | st.text()))
def test_strings_equal_those_of_pyarrow(texts: list[str | None]) -> None:
    assert same(strings(texts), pa.array(texts, pa.string()))


@given(text=st.text(), length=st.integers(0, 5))
def test_repeated_strings_equal_those_of_pyarrow(text: str, length: int) -> None:
    assert same(repeated(text, length), pa.array([text] * length, pa.string()))


@pytest.mark.parametrize(
    ("kind", "value"),
    [
        (pa.int32(), INT32),
        (pa.int64(), INT64),
        (pa.timestamp("us", "UTC"), INT64),
        (pa.bool_(), st.booleans()),
    ],
    ids=str,
)
@given(data=st.data())
def test_nullable_integers_equal_those_of_pyarrow(
    data: st.DataObject, kind: pa.DataType, value: st.SearchStrategy[int]
) -> None:
    values = data.draw(st.lists(st.none() | value))
    assert same(nullable_integers(values, kind), pa.array(values, kind))


@pytest.mark.parametrize("kind", [np.int32, np.int64, np.uint8])
def test_integers_are_copied_from_a_strided_column(kind: type) -> None:
    for rows in (0, 1, 5):
        table = np.arange(3 * rows).reshape(rows, 3).astype(kind)
        expected = pa.array(table[:, 1].tolist(), pa.from_numpy_dtype(kind))
        array = integers(table[:, 1])
        table[:] = 0
        assert same(array, expected)


FIRST_BATCH = """
import sys, decoder
for _ in decoder.read(open(sys.argv[1], "rb").read()): pass
print("pandas" in sys.modules)
"""


def test_decoding_a_file_does_not_import_pandas() -> None:
    done = subprocess.run(
        [sys.executable, "-c", FIRST_BATCH, RECORDING], capture_output=True, text=True, check=True
    )
    assert done.stdout.strip() == "False"
