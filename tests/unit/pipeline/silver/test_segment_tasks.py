"""Segments dealt out to tasks: how much each takes, and what it is told."""

from __future__ import annotations

import pytest

from pipeline.settings import MIB
from pipeline.silver.segment_tasks import stored, task_bytes
from pipeline.silver.segments import SegmentRef


@pytest.mark.parametrize(
    ("total", "tasks", "size"),
    [
        (MIB, 4, 16 * MIB),
        (400 * MIB, 4, 100 * MIB),
        (10_000 * MIB, 4, 256 * MIB),
    ],
    ids=["little", "a share", "much"],
)
def test_a_task_takes_a_share_within_bounds(total: int, tasks: int, size: int) -> None:
    assert task_bytes(total, tasks) == size


def ref(n: int, *stored_in: str, size: int = 10) -> SegmentRef:
    return SegmentRef("binlog.000001", 1, n * size, (n + 1) * size, 1, stored_in=stored_in)


def test_tasks_are_runs_of_segments_with_the_files_that_have_them() -> None:
    refs = [ref(0, "a"), ref(1, "a", "b"), ref(2, "b"), ref(3, "c"), ref(4, "c")]
    tasks = list(stored(refs, "/lake/bronze", "shop", 20))
    assert [task.places for task in tasks] == [((1, 0), (1, 10)), ((1, 20), (1, 30)), ((1, 40),)]
    assert [task.files for task in tasks] == [
        ("/lake/bronze/a", "/lake/bronze/b"),
        ("/lake/bronze/b", "/lake/bronze/c"),
        ("/lake/bronze/c",),
    ]
    assert {task.source for task in tasks} == {"shop"}


def test_a_segment_larger_than_a_task_is_one() -> None:
    tasks = list(stored([ref(0, "a", size=50), ref(1, "a", size=50)], "/b", "shop", 20))
    assert [len(task.places) for task in tasks] == [1, 1]
    assert list(stored([], "/b", "shop", 20)) == []
