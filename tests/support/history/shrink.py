"""The few steps of a history that still fail, for a failure that someone is to read."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from tests.support.history.model import Step


def shrink(
    steps: Sequence[Step], fails: Callable[[Sequence[Step]], bool], *, tries: int = 100
) -> list[Step]:
    """Leaves steps out, in ever smaller pieces, as long as what is left fails.

    `steps` itself must fail. `tries`: how often `fails` may be asked, since each is a run.
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
    """The steps to read, and to type: each with its session."""
    return "\n".join(f"/* {step.session} */ {step.sql};" for step in steps)
