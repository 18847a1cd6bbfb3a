"""A progress task for tests of what work reports to it."""

from __future__ import annotations


class CountedTask:
    """Records each amount that it is advanced by."""

    def __init__(self) -> None:
        self.amounts: list[int] = []

    def advance(self, amount: int = 1) -> None:
        self.amounts.append(amount)
