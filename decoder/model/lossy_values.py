"""Values that Arrow's types cannot represent as logged, tracked by column and row.

A zero or impossible date becomes null; bytes that are invalid in their charset become U+FFFD.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt


@dataclass(frozen=True, slots=True)
class LossyValues:
    """The rows of a batch where a column's value was replaced, in the before or after image."""

    column: str
    rows: npt.NDArray[np.int64]

    def filter(self, kept: npt.NDArray[np.bool_]) -> LossyValues:
        """Keep the rows where `kept` is set, and renumber them as in the filtered batch."""
        rows = self.rows[kept[self.rows]]
        return LossyValues(self.column, (np.cumsum(kept) - 1)[rows])

    def slice(self, start: int, stop: int) -> LossyValues:
        """Keep the rows in [start, stop), and renumber them from 0."""
        inside = (self.rows >= start) & (self.rows < stop)
        return LossyValues(self.column, self.rows[inside] - start)
