"""How a batch's bytes are dealt out to tasks."""

from __future__ import annotations

from itertools import pairwise

import pytest

from decoder.large_event import Mark
from decoder.segments import Cut
from pipeline.bronze.ingest import chunks
from pipeline.bronze.rows import Stretch
from pipeline.settings import MIB
from tests.support.bronze_rows import file_row


def segments(count: int, codec: str | None = None) -> list[Stretch]:
    """So many of 16 MiB each, of one file."""
    ends = [Mark(number * 16 * MIB, 0) for number in range(count + 1)]
    row = file_row("log.000001", 1)
    return [
        Stretch(row, Cut(start, end, None, b""), False, None, 1, codec=codec)
        for start, end in pairwise(ends)
    ]


@pytest.mark.parametrize(
    ("count", "tasks", "codec", "dealt"),
    [
        (4, 4, None, [2, 2]),  # not less than 32 MiB to a task
        (16, 4, None, [4, 4, 4, 4]),
        (64, 4, None, [8] * 8),  # nor more than 128 MiB
        (64, 16, None, [4] * 16),
        (64, 400, None, [2] * 32),
        (64, 400, "gzip", [64]),  # only one task reads a compressed file
        (0, 4, None, []),
    ],
)
def test_as_many_tasks_as_may_run_at_once_and_no_crumbs(
    count: int, tasks: int, codec: str | None, dealt: list[int]
) -> None:
    stretches = segments(count, codec)
    found = list(chunks(stretches, tasks))
    assert [len(chunk) for chunk in found] == dealt
    assert [stretch for chunk in found for stretch in chunk] == stretches
