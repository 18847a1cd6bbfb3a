"""Performance goals, and whether the measured figures reach them."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from benchmarks.marked import table


@dataclass(frozen=True, slots=True)
class Demand:
    """A performance goal: what is measured, the figure asked for, and the figure measured."""

    what: str
    asked: str
    measured: str
    reached: bool

    @classmethod
    def at_least(cls, what: str, measured: float, asked: float) -> Demand:
        """Return a goal that a measured figure reaches if it is not smaller."""
        return cls(what, f"≥ {asked:g}", f"{measured:.2f}", measured >= asked)

    @classmethod
    def at_most(cls, what: str, measured: float, asked: float) -> Demand:
        """Return a goal that a measured figure reaches if it is not larger."""
        return cls(what, f"≤ {asked:g}", f"{measured:.2f}", measured <= asked)

    @classmethod
    def below(cls, what: str, measured: float, asked: float) -> Demand:
        """Return a goal that a measured figure reaches if it is smaller."""
        return cls(what, f"< {asked:g}", f"{measured:.2f}", measured < asked)


def table_of(demands: Iterable[Demand]) -> str:
    """Return a Markdown table of the goals."""
    rows = [
        [demand.what, demand.asked, demand.measured, "yes" if demand.reached else "no"]
        for demand in demands
    ]
    return table(["goal", "target", "measured", "reached"], rows)
