"""The drift of few changes, compared in Arrow, with the same counts as `drift` in Spark.

For changes with complete images that `local.fold` folds.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from pipeline.gold.changes.drift import Drift
from pipeline.gold.changes.fold import Shape
from pipeline.gold.local.fold import ORDER
from pipeline.gold.local.row_numbers import row_numbers

_ABSENT = -1
"""The number of a row that is not there."""


def drift_here(changes: pa.Table, shape: Shape, gold: pa.Table) -> Drift:
    """Compare changes that are not applied yet with each other and with `gold`.

    `gold` has at least every row whose key they contain, under the source's column names.
    """
    ordered = changes.sort_by([(name, "ascending") for name in ORDER])
    before, after = (_image(ordered, side, shape) for side in ("before", "after"))
    rows = row_numbers([table.select(shape.columns) for table in (before, after, gold)])
    keys = row_numbers([table.select(shape.key) for table in (before, after, gold)])
    inserted, deleted = (np.asarray(pc.equal(ordered["__op"], op)) for op in ("insert", "delete"))
    moved = ~inserted & ~deleted & (keys[0] != keys[1])
    leaves, comes = ~inserted, inserted | moved
    stays = np.where(deleted | moved, _ABSENT, rows[1])
    key = np.concatenate([keys[0][leaves], keys[1][comes]])
    had = np.concatenate([rows[0][leaves], np.full(comes.sum(), _ABSENT)])
    has = np.concatenate([stays[leaves], rows[1][comes]])
    place = np.concatenate([np.flatnonzero(leaves), np.flatnonzero(comes)])
    order = np.lexsort((place, key))
    key, had, has = key[order], had[order], has[order]
    left = _left(key, has, keys[2], rows[2])
    return Drift(
        len(key),
        missing=int(((had != _ABSENT) & (left == _ABSENT)).sum()),
        extra=int(((had == _ABSENT) & (left != _ABSENT)).sum()),
        different=int(((had != _ABSENT) & (left != _ABSENT) & (had != left)).sum()),
    )


def _image(changes: pa.Table, side: str, shape: Shape) -> pa.Table:
    kind = changes.schema.field(side).type
    places = [kind.get_field_index(name) for name in shape.columns]
    columns = [pc.struct_field(changes[side], [place]) for place in places]
    return pa.table(columns, names=list(shape.columns))


def _left(key: Any, has: Any, gold_keys: Any, gold_rows: Any) -> Any:
    """Return, for each change in the order of keys, the row that was there before it: that which
    the previous change of the key left, or gold's."""
    stored = np.full(max(int(key.max(initial=0)), int(gold_keys.max(initial=0))) + 1, _ABSENT)
    stored[gold_keys] = gold_rows
    left = stored[key]
    again = np.flatnonzero(key[1:] == key[:-1]) + 1
    left[again] = has[again - 1]
    return left
