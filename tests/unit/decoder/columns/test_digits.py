"""Digits of integers of any length equal Python's."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import example, given, strategies as st

from decoder.columns.digits import LONGEST_INTEGER, digit_count, write_signed, write_unsigned
from decoder.kernels.memory import wrap

AT = 3
EDGES = sorted(
    {power + off for power in (10**n for n in range(20)) for off in (-1, 0, 1)}
    | {power + off for power in (1 << n for n in range(65)) for off in (-1, 0)}
)


def room() -> np.ndarray[tuple[int], np.dtype[np.uint8]]:
    return np.full(AT + LONGEST_INTEGER + 8, 0xAA, np.uint8)


@given(digits=st.integers(1, 20), number=st.integers(0, 2**64 - 1))
def test_unsigned_digits_equal_python_s(digits: int, number: int) -> None:
    number %= 10**digits
    text = room()
    end = write_unsigned(text, AT, wrap(number))
    assert text[:end].tobytes() == b"\xaa" * AT + str(number).encode()


@given(digits=st.integers(1, 19), number=st.integers(-(2**63), 2**63 - 1))
@example(19, -(2**63))
def test_signed_digits_equal_python_s(digits: int, number: int) -> None:
    number = max(number % 10**digits * (1 if number > 0 else -1), -(2**63))
    text = room()
    end = write_signed(text, AT, number)
    assert text[:end].tobytes() == b"\xaa" * AT + str(number).encode()


@pytest.mark.parametrize("number", [edge for edge in EDGES if 0 <= edge < 2**64])
def test_numbers_at_the_edges_of_each_length(number: int) -> None:
    text = room()
    assert text[AT : write_unsigned(text, AT, wrap(number))].tobytes() == str(number).encode()
    if number < 2**63:
        assert digit_count(number) == len(str(number))
        end = write_signed(text, AT, -number)
        assert text[AT:end].tobytes() == str(-number).encode()
