"""Counts of changed rows per transaction and table, and whether foreign keys changed others.

InnoDB executes ON DELETE and ON UPDATE actions internally, without logging them, unless the server
executes them in SQL (MySQL from 9.6 on, without `innodb_native_foreign_keys`): then each rows event
has a flag, and changes by foreign keys are logged as rows events before the parent's. With
`foreign_key_checks=0`, which another flag records, foreign keys change nothing.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from decoder.events.rows import RowsFlag
from decoder.kernels.memory import Array, inline_kernel
from decoder.transactions import records as t

_NOTHING_UNSEEN = int(RowsFlag.NO_FOREIGN_KEY_CHECKS | RowsFlag.SQL_FOREIGN_KEYS)


@inline_kernel
def cascades_of(flags: int) -> int:
    """Return UNLOGGED if foreign keys may have made changes that are not logged, else LOGGED.

    `flags` are those of a rows event.
    """
    return t.LOGGED if flags & _NOTHING_UNSEEN else t.UNLOGGED


@inline_kernel
def count_rows(
    counts: Array,
    state: Array,
    kind: tuple[int, int, int],
    rows: int,
    place: tuple[int, int],
) -> None:
    """Add `rows` to the last count if it is of the same kind, else to a new one, from `place` on.

    `kind`: transaction, table, effect of its foreign keys. A TABLE_MAP (`UNDETERMINED`) matches any
    effect. `place`: file position and row number.
    """
    owner, table, cascades = kind
    last = state[t.COUNTS] - 1
    same = last >= 0 and counts[last, t.COUNT_TRANSACTION] == owner
    same = same and counts[last, t.COUNT_TABLE] == table
    if same and cascades != t.UNDETERMINED and counts[last, t.COUNT_CASCADES] != t.UNDETERMINED:
        same = counts[last, t.COUNT_CASCADES] == cascades
    if not same:
        last += 1
        counts[last, t.COUNT_TRANSACTION] = owner
        counts[last, t.COUNT_TABLE] = table
        counts[last, t.COUNT_CASCADES] = t.UNDETERMINED
        counts[last, t.COUNT_ROWS] = 0
        state[t.COUNTS] = last + 1
    if cascades != t.UNDETERMINED and counts[last, t.COUNT_CASCADES] == t.UNDETERMINED:
        counts[last, t.COUNT_CASCADES] = cascades
        counts[last, t.COUNT_POSITION] = place[0]
        counts[last, t.COUNT_ROW] = place[1]
    counts[last, t.COUNT_ROWS] += rows


def tables_of(
    counts: npt.NDArray[np.int64], transaction: int, names: list[str]
) -> list[str] | None:
    """Return the tables of a transaction's TABLE_MAPs; None if one of them could not be read."""
    own = counts[:, t.COUNT_TRANSACTION] == transaction
    tables = np.unique(counts[own, t.COUNT_TABLE]).tolist()
    if tables and tables[0] < 0:
        return None
    return [names[table] for table in tables]
