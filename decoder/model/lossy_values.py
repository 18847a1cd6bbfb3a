"""Values that Arrow's types cannot hold as they are logged, kept account of by column and row.

A zero or impossible date becomes null, bytes that are no character of their charset become U+FFFD.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt


@dataclass(frozen=True, slots=True)
class LossyValues:
    """The rows of a batch in whose before or after image a column's value was replaced."""

    column: str
    rows: npt.NDArray[np.int64]

    def filter(self, kept: npt.NDArray[np.bool_]) -> LossyValues:
        """The same of the rows where `kept` is set, numbered as they are then."""
        rows = self.rows[kept[self.rows]]
        return LossyValues(self.column, (np.cumsum(kept) - 1)[rows])

    def slice(self, start: int, stop: int) -> LossyValues:
        """The same of the rows in [start, stop)."""
        inside = (self.rows >= start) & (self.rows < stop)
        return LossyValues(self.column, self.rows[inside] - start)
