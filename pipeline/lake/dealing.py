"""Grouping of items by size: a batch's bytes into tasks, small files into larger ones."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import TypeVar

T = TypeVar("T")

LEAST_BYTES = 16 << 20
"""Least bytes of log per task: smaller batches take fewer tasks."""
MOST_BYTES = 256 << 20
"""Most bytes of log per task: larger batches take more tasks."""


def dealt(
    items: Sequence[T],
    size: Callable[[T], int],
    tasks: int,
    inseparable: Callable[[T, T], bool] = lambda before, after: False,
) -> Iterator[list[T]]:
    """Yield the items in order, in one list for each of about `tasks` tasks of similar size.

    A task gets between LEAST_BYTES and MOST_BYTES. `inseparable`: True if two neighbors must be in
    the same task.
    """
    most = min(max(sum(map(size, items)) // tasks, LEAST_BYTES), MOST_BYTES)
    return packed(items, size, most, inseparable)


def packed(
    items: Iterable[T],
    size: Callable[[T], int],
    most: int,
    inseparable: Callable[[T, T], bool] = lambda before, after: False,
) -> Iterator[list[T]]:
    """Yield the items in order, in lists of at most `most` in total; a larger item is alone.

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
