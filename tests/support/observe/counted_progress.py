"""A task of progress for tests that look at what work reports to it."""

from __future__ import annotations


class CountedTask:
    """Keeps each amount that it is advanced by."""

    def __init__(self) -> None:
        self.amounts: list[int] = []

    def advance(self, amount: int = 1) -> None:
        self.amounts.append(amount)
