"""Durations and sizes in words."""

from __future__ import annotations

import pytest

from pipeline.observe.quantities import byte_factor, byte_unit, duration, size


@pytest.mark.parametrize(
    ("seconds", "text"),
    [
        (None, ""),
        (0, "0.0 s"),
        (59.94, "59.9 s"),
        (245, "4 min 5 s"),
        (12_000, "3 h 20 min"),
        (187_200, "2 d 4 h"),
        (-1.25, "-1.2 s"),
    ],
)
def test_durations_have_two_units(seconds: float | None, text: str) -> None:
    assert duration(seconds) == text


@pytest.mark.parametrize(
    ("count", "text"),
    [
        (None, ""),
        (0, "0 B"),
        (1023, "1023 B"),
        (1024, "1.0 KiB"),
        (1_600_000, "1.5 MiB"),
        (5 << 40, "5.0 TiB"),
        (3 << 60, "3,072.0 PiB"),
    ],
)
def test_a_size_has_the_largest_unit_of_which_it_has_one(count: int | None, text: str) -> None:
    assert size(count) == text


def test_several_sizes_share_the_unit_of_the_greatest() -> None:
    unit = byte_unit([1, 5 << 20, 1 << 20])
    assert (unit, byte_factor(unit)) == ("MiB", 1 << 20)
    assert byte_unit([]) == "B"
