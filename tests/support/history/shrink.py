"""Reduce a failing history to a few steps that still fail."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from tests.support.history.model import Step


def shrink(
    steps: Sequence[Step], fails: Callable[[Sequence[Step]], bool], *, tries: int = 100
) -> list[Step]:
    """Remove steps in ever smaller chunks while the rest still fails.

    `steps` itself must fail. `tries`: the limit of calls of `fails`, each of which is a run.
    """
    left = list(steps)
    size = max(len(left) // 2, 1)
    while tries:
        start = 0
        before = len(left)
        while start < len(left) and tries:
            without = [*left[:start], *left[start + size :]]
            tries -= bool(without)
            if without and fails(without):
                left = without
            else:
                start += size
        if size == 1 and len(left) == before:
            return left
        size = max(size // 2, 1)
    return left


def as_sql(steps: Sequence[Step]) -> str:
    """Return the steps as SQL, each with its session."""
    return "\n".join(f"/* {step.session} */ {step.sql};" for step in steps)
