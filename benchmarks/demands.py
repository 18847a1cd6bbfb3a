"""What is asked of us, and whether what was measured reaches it."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from benchmarks.marked import table


@dataclass(frozen=True, slots=True)
class Demand:
    """Something that is asked of us, what was measured, and whether that reaches it."""

    what: str
    asked: str
    measured: str
    reached: bool

    @classmethod
    def at_least(cls, what: str, measured: float, asked: float) -> Demand:
        """A figure that is to be as large, or larger."""
        return cls(what, f"≥ {asked:g}", f"{measured:.2f}", measured >= asked)

    @classmethod
    def at_most(cls, what: str, measured: float, asked: float) -> Demand:
        """A figure that is to be as small, or smaller."""
        return cls(what, f"≤ {asked:g}", f"{measured:.2f}", measured <= asked)

    @classmethod
    def below(cls, what: str, measured: float, asked: float) -> Demand:
        """A figure that is to be smaller."""
        return cls(what, f"< {asked:g}", f"{measured:.2f}", measured < asked)


def table_of(demands: Iterable[Demand]) -> str:
    """A Markdown table of them."""
    rows = [
        [demand.what, demand.asked, demand.measured, "yes" if demand.reached else "no"]
        for demand in demands
    ]
    return table(["what", "asked", "measured", "reached"], rows)
