"""The rule by which `make soak-sync` finds that memory grows."""

from __future__ import annotations

from collections.abc import Sequence

import pytest

from benchmarks.latency import grown


@pytest.mark.parametrize(
    ("java", "grows"),
    [
        ((100e6, 200e6, 200e6, 209e6), False),  # its first quarter is warming up
        ((100e6, 200e6, 220e6, 190e6), False),
        ((200e6, 200e6, 205e6, 211e6), True),
    ],
)
def test_memory_grows_if_the_last_quarter_has_more_than_the_second(
    java: Sequence[float], grows: bool
) -> None:
    found = grown({"Python": (1.0, 1.0, 1.0, 1.0), "Java": java})
    assert [text.partition("'")[0] for text in found] == (["Java"] if grows else [])
