"""Distribute segments to tasks."""

from __future__ import annotations

from pipeline.settings.settings import MIB
from pipeline.silver.decode.segment_refs import SegmentRef
from pipeline.silver.decode.segment_tasks import stored


def ref(n: int, *stored_in: str, size: int = 8 * MIB) -> SegmentRef:
    return SegmentRef("binlog.000001", 1, n * size, (n + 1) * size, 1, stored_in=stored_in)


def test_tasks_are_runs_of_segments_with_their_files() -> None:
    refs = [ref(0, "a"), ref(1, "a", "b"), ref(2, "b"), ref(3, "c"), ref(4, "c")]
    tasks = list(stored(refs, "/lake/bronze", "shop", 2))
    assert [task.places for task in tasks] == [
        ((1, 0), (1, 8 * MIB)),
        ((1, 16 * MIB), (1, 24 * MIB)),
        ((1, 32 * MIB),),
    ]
    assert [task.files for task in tasks] == [
        ("/lake/bronze/a", "/lake/bronze/b"),
        ("/lake/bronze/b", "/lake/bronze/c"),
        ("/lake/bronze/c",),
    ]
    assert {task.source for task in tasks} == {"shop"}
