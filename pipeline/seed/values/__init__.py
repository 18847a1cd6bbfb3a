"""Convert values as a server prints them to the Arrow arrays that the decoder makes of its log.

A cell array is `pa.binary()`: the bytes of MySQL's text protocol with `character_set_results =
utf8mb4`, NULL as null. The cell format of each type is in `rows`, the SELECT expressions in
`pipeline.seed.selection`.
"""

from __future__ import annotations

from pipeline.seed.values.rows import RowReader

__all__ = ["RowReader", "cell_bytes"]
