"""Loads, stores and bit operations: compiled and interpreted results equal those of `struct`."""

from __future__ import annotations

import os
import struct
import subprocess
import sys

import numpy as np
import pytest
from hypothesis import given, strategies as st

from decoder.kernels import memory as m
from decoder.kernels.memory import (
    Array,
    Bytes,
    copy_32,
    copy_text_32,
    double_from_bits,
    item,
    kernel,
    leading_zeros,
    load_be16,
    load_be24,
    load_be32,
    load_be64,
    load_i8,
    load_i16,
    load_i24,
    load_i32,
    load_i64,
    load_u8,
    load_u16,
    load_u24,
    load_u32,
    load_u48,
    set_item,
    shift_left,
    shift_right_logical,
    store_8,
    store_16,
    store_32,
    store_64,
    trailing_zeros,
    wrap,
)

LOADS = {
    "load_u8": (1, "little", False),
    "load_i8": (1, "little", True),
    "load_u16": (2, "little", False),
    "load_i16": (2, "little", True),
    "load_u24": (3, "little", False),
    "load_i24": (3, "little", True),
    "load_u32": (4, "little", False),
    "load_i32": (4, "little", True),
    "load_u48": (6, "little", False),
    "load_i64": (8, "little", True),
    "load_be16": (2, "big", False),
    "load_be24": (3, "big", False),
    "load_be32": (4, "big", False),
    "load_be64": (8, "big", True),
}


@kernel
def load_all(buffer: Bytes, position: int) -> tuple[int, ...]:
    return (
        load_u8(buffer, position),
        load_i8(buffer, position),
        load_u16(buffer, position),
        load_i16(buffer, position),
        load_u24(buffer, position),
        load_i24(buffer, position),
        load_u32(buffer, position),
        load_i32(buffer, position),
        load_u48(buffer, position),
        load_i64(buffer, position),
        load_be16(buffer, position),
        load_be24(buffer, position),
        load_be32(buffer, position),
        load_be64(buffer, position),
    )


@kernel
def store_all(buffer: Bytes, value: int) -> None:
    store_64(buffer, 1, value)
    store_32(buffer, 11, value)
    store_16(buffer, 17, value)
    store_8(buffer, 21, value)


@kernel
def bits(value: int, count: int) -> tuple[int, int, int, int, float]:
    return (
        shift_left(value, count),
        shift_right_logical(value, count),
        trailing_zeros(value),
        leading_zeros(value),
        double_from_bits(value),
    )


@kernel
def copy(target: Bytes, to: int, source: Bytes, position: int) -> None:
    copy_32(target, to, source, position)


@kernel
def copy_text(target: Bytes, to: int, source: Bytes, position: int) -> int:
    return copy_text_32(target, to, source, position)


@kernel
def swap(array: Array, left: int, right: int) -> None:
    held = item(array, left)
    set_item(array, left, item(array, right))
    set_item(array, right, held)


INT64 = st.integers(-(1 << 63), (1 << 63) - 1)


@given(data=st.binary(min_size=8, max_size=24), position=st.integers(0, 16))
def test_loads_equal_int_from_bytes(data: bytes, position: int) -> None:
    position = min(position, len(data) - 8)
    buffer = np.frombuffer(bytearray(data), np.uint8)
    expected = [
        int.from_bytes(data[position : position + size], order, signed=signed)
        for size, order, signed in LOADS.values()
    ]
    assert list(load_all(buffer, position)) == expected
    interpreted = [getattr(m, name) for name in LOADS]
    bodies = [getattr(load, "py_func", load) for load in interpreted]
    assert [body(buffer, position) for body in bodies] == expected


@given(value=INT64)
def test_stores_write_only_the_lowest_bits(value: int) -> None:
    packed = struct.pack("<q", value)
    expected = b"\xaa" + packed + b"\xaa\xaa" + packed[:4] + b"\xaa\xaa" + packed[:2]
    expected += b"\xaa\xaa" + packed[:1] + b"\xaa"
    compiled = np.full(len(expected), 0xAA, np.uint8)
    store_all(compiled, value)
    assert compiled.tobytes() == expected
    interpreted = np.full(len(expected), 0xAA, np.uint8)
    getattr(store_all, "py_func", store_all)(interpreted, value)
    assert interpreted.tobytes() == expected


@given(value=INT64, count=st.integers(0, 63))
def test_bit_operations_equal_those_of_python_integers(value: int, count: int) -> None:
    unsigned = value & (1 << 64) - 1
    left, right, zeros, above, double = bits(value, count)
    assert left == wrap(value << count)
    assert right == wrap(unsigned >> count)
    assert zeros == (len(bin(unsigned)) - len(bin(unsigned).rstrip("0")) if value else 64)
    assert above == 64 - unsigned.bit_length()
    assert struct.pack("<d", double)[6:] == struct.pack("<q", value)[6:]
    assert getattr(bits, "py_func", bits)(value, count)[:4] == (left, right, zeros, above)


def test_copy_32_copies_32_bytes() -> None:
    source = np.arange(64, dtype=np.uint8)
    target = np.zeros(40, np.uint8)
    copy(target, 3, source, 7)
    assert target.tolist() == [0] * 3 + list(range(7, 39)) + [0] * 5


@given(text=st.binary(min_size=32, max_size=32))
def test_copy_text_32_finds_escaped_and_non_ascii_bytes(text: bytes) -> None:
    source = np.frombuffer(bytearray(b"?" * 5 + text), np.uint8)
    escaped = sum(1 << at for at, byte in enumerate(text) if byte < 32 or byte in b'"\\')
    not_ascii = sum(1 << at for at, byte in enumerate(text) if byte > 127)
    for copies in (copy_text, getattr(copy_text, "py_func", copy_text)):
        target = np.zeros(40, np.uint8)
        assert copies(target, 3, source, 5) == wrap(escaped | not_ascii << 32)
        assert target.tobytes() == bytes(3) + text + bytes(5)


@pytest.mark.parametrize("kind", [np.int8, np.uint8, np.int16, np.int32, np.uint32, np.int64])
def test_items_keep_their_value_and_sign(kind: type) -> None:
    array = np.array([np.iinfo(kind).min, 5, np.iinfo(kind).max], kind)
    swap(array, 0, 2)
    assert array.tolist() == [np.iinfo(kind).max, 5, np.iinfo(kind).min]


CHECKS = """
import numpy as np
from decoder.kernels import memory as m

@m.kernel
def load(b, p): return m.load_i64(b, p)
@m.kernel
def store(b, p): m.store_32(b, p, 1)
@m.kernel
def copy(b, p): m.copy_32(b, p, b, 0)
@m.kernel
def text(b, p): return m.copy_text_32(b, 0, b, p)
@m.kernel
def element(b, p): return m.item(b, p)

buffer = np.zeros(64, np.uint8)
raised = 0
for access, size in ((load, 8), (store, 4), (copy, 32), (text, 32), (element, 1)):
    access(buffer, 0)
    access(buffer, 64 - size)
    for position in (-1, 65 - size, 1 << 40):
        try:
            access(buffer, position)
        except IndexError:
            raised += 1
print(raised)
"""


@pytest.mark.parametrize("variable", ["NUMBA_BOUNDSCHECK", "NUMBA_DISABLE_JIT"])
def test_checked_and_interpreted_accesses_raise_outside_the_array(variable: str) -> None:
    done = subprocess.run(
        [sys.executable, "-c", CHECKS],
        env={**os.environ, variable: "1"},
        capture_output=True,
        text=True,
        check=True,
    )
    assert done.stdout.strip() == "15"
