"""Grouping of a batch's bytes into tasks."""

from __future__ import annotations

import pytest

from pipeline.lake.dealing import dealt
from pipeline.settings.settings import MIB


@pytest.mark.parametrize(
    ("sizes", "tasks", "inseparable", "expected"),
    [
        ([8] * 4, 4, False, [2, 2]),  # not less than 16 MiB to a task
        ([16] * 16, 4, False, [4, 4, 4, 4]),
        ([16] * 80, 4, False, [16] * 5),  # nor more than 256 MiB
        ([16] * 64, 16, False, [4] * 16),
        ([16] * 64, 400, False, [1] * 64),
        ([16] * 64, 400, True, [64]),
        ([50, 50], 4, False, [1, 1]),  # an item larger than a share is a task of its own
        ([], 4, False, []),
    ],
)
def test_tasks_are_of_similar_size_within_limits(
    sizes: list[int], tasks: int, inseparable: bool, expected: list[int]
) -> None:
    items = list(enumerate(sizes))
    found = list(dealt(items, lambda item: item[1] * MIB, tasks, lambda _, __: inseparable))
    assert [len(run) for run in found] == expected
    assert [item for run in found for item in run] == items
