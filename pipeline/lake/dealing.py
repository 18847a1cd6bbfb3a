"""Items put together by size: a batch's bytes for its tasks, small files for larger ones."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import TypeVar

T = TypeVar("T")

LEAST_BYTES = 16 << 20
"""Of the log to a task, where there is so much …"""
MOST_BYTES = 256 << 20
"""… and where there is much more."""


def dealt(
    items: Sequence[T],
    size: Callable[[T], int],
    tasks: int,
    inseparable: Callable[[T, T], bool] = lambda before, after: False,
) -> Iterator[list[T]]:
    """Items that follow each other, as many as one of so many tasks takes.

    `inseparable`: whether two of them must be of one task.
    """
    most = min(max(sum(map(size, items)) // tasks, LEAST_BYTES), MOST_BYTES)
    return packed(items, size, most, inseparable)


def packed(
    items: Iterable[T],
    size: Callable[[T], int],
    most: int,
    inseparable: Callable[[T, T], bool] = lambda before, after: False,
) -> Iterator[list[T]]:
    """Runs of items that are no larger than `most` together, or one that is by itself.

    `inseparable`: see `dealt`.
    """
    run: list[T] = []
    held = 0
    for item in items:
        if run and held + size(item) > most and not inseparable(run[-1], item):
            yield run
            run, held = [], 0
        run.append(item)
        held += size(item)
    if run:
        yield run
