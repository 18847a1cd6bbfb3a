"""Changes by foreign keys in the table of transactions, by the flags of rows events."""

from __future__ import annotations

from typing import Any

import pytest

from decoder.events.rows import RowsFlag
from tests.support.decoder.event_bytes import log_bytes
from tests.support.decoder.logs import (
    CUP,
    POT,
    Table,
    decoded,
    gtid,
    payload,
    query,
    transactions,
    xid,
)

NATIVE, SQL = 0, int(RowsFlag.SQL_FOREIGN_KEYS)
UNCHECKED = int(RowsFlag.NO_FOREIGN_KEY_CHECKS)
Events = list[tuple[Table, int, int]]
"""Table, rows, flags of each rows event."""

CASES: dict[str, tuple[Events, str | None, list[tuple[int, int | None]]]] = {
    "none": ([], None, []),
    "in InnoDB": ([(POT, 2, NATIVE), (CUP, 1, NATIVE)], "unlogged", []),
    "in SQL": ([(CUP, 1, SQL | UNCHECKED), (POT, 1, SQL)], "logged", []),
    "checks off": ([(POT, 2, UNCHECKED), (POT, 2, UNCHECKED)], "logged", []),
    "checks off, then on": ([(POT, 2, UNCHECKED), (POT, 3, NATIVE)], "mixed", [(0, 1)]),
    "checks on, then off": ([(POT, 2, NATIVE), (POT, 3, UNCHECKED)], "mixed", [(1, None)]),
    "checks off twice": (
        [(POT, 1, UNCHECKED), (CUP, 2, NATIVE), (CUP, 1, NATIVE), (CUP, 1, UNCHECKED)],
        "mixed",
        [(0, 1), (3, None)],
    ),
}
"""By name: events, `cascades`, and the first and next event of each logged span."""


def event(table: Table, rows: int, flags: int) -> bytes:
    row = (1,) if table is POT else (1, "x")
    return table.rows(*([row] * rows), flags=flags)


@pytest.mark.parametrize("name", CASES)
@pytest.mark.parametrize("packed", [False, True])
def test_cascades_are_derived_from_the_flags_of_rows_events(name: str, *, packed: bool) -> None:
    events, cascades, logged = CASES[name]
    begin = query("BEGIN") + POT.map() + CUP.map()
    rows = [event(*one) for one in events]
    before = gtid(1) + begin + event(POT, 1, NATIVE) + xid()
    inner = begin + b"".join(rows) + xid()
    log = log_bytes(before, gtid(2), payload(inner) if packed else inner)
    _, found = transactions(decoded(log))
    assert found["cascades"] == cascades
    first = len(log) - len(inner) + len(begin)
    places = [sum(n for _, n, _ in events[:k]) for k in range(len(rows))]
    if not packed:
        places = [first + sum(map(len, rows[:k])) for k in range(len(rows))]
    spans: Any = found["cascades_logged_rows" if packed else "cascades_logged"] or []
    end = (1 << 63) - 1
    assert [(span["start"], span["end"]) for span in spans] == [
        (places[start], end if stop is None else places[stop]) for start, stop in logged
    ]
    assert found["cascades_logged" if packed else "cascades_logged_rows"] is None
