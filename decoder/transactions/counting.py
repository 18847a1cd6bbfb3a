"""How many rows of which table each transaction changes, and what foreign keys did beside them.

InnoDB carries out ON DELETE and ON UPDATE actions by itself, and the log has nothing of it, unless
the server does it in SQL (MySQL from 9.6 on, without `innodb_native_foreign_keys`): then each of
its rows events has a flag, and what foreign keys change is rows events too, before the parent's.
With `foreign_key_checks=0` no foreign key does anything, which another flag tells.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from decoder.events.rows import RowsFlag
from decoder.kernels.memory import Array, inline_kernel
from decoder.transactions.records import (
    COUNT_CASCADES,
    COUNT_POSITION,
    COUNT_ROW,
    COUNT_ROWS,
    COUNT_TABLE,
    COUNT_TRANSACTION,
    COUNTS,
    LOGGED,
    UNLOGGED,
    UNTOLD,
)

_NOTHING_UNSEEN = int(RowsFlag.NO_FOREIGN_KEY_CHECKS | RowsFlag.SQL_FOREIGN_KEYS)


@inline_kernel
def cascades_of(flags: int) -> int:
    """Whether foreign keys may have changed rows unseen, by the flags of a rows event."""
    return LOGGED if flags & _NOTHING_UNSEEN else UNLOGGED


@inline_kernel
def count_rows(
    counts: Array,
    state: Array,
    kind: tuple[int, int, int],
    rows: int,
    place: tuple[int, int],
) -> None:
    """Adds to the last count when it is of the same kind, else a new one, which begins at `place`.

    `kind`: transaction, table, what its foreign keys did. A TABLE_MAP (`UNTOLD`) is of any.
    """
    owner, table, cascades = kind
    last = state[COUNTS] - 1
    same = last >= 0 and counts[last, COUNT_TRANSACTION] == owner
    same = same and counts[last, COUNT_TABLE] == table
    if same and cascades != UNTOLD and counts[last, COUNT_CASCADES] != UNTOLD:
        same = counts[last, COUNT_CASCADES] == cascades
    if not same:
        last += 1
        counts[last, COUNT_TRANSACTION] = owner
        counts[last, COUNT_TABLE] = table
        counts[last, COUNT_CASCADES] = UNTOLD
        counts[last, COUNT_ROWS] = 0
        state[COUNTS] = last + 1
    if cascades != UNTOLD and counts[last, COUNT_CASCADES] == UNTOLD:
        counts[last, COUNT_CASCADES] = cascades
        counts[last, COUNT_POSITION] = place[0]
        counts[last, COUNT_ROW] = place[1]
    counts[last, COUNT_ROWS] += rows


def tables_of(
    counts: npt.NDArray[np.int64], transaction: int, names: list[str]
) -> list[str] | None:
    """The tables that a transaction maps; None where a map could not be read."""
    own = counts[:, COUNT_TRANSACTION] == transaction
    tables = np.unique(counts[own, COUNT_TABLE]).tolist()
    if tables and tables[0] < 0:
        return None
    return [names[table] for table in tables]
