"""TABLE_MAPs without names: equal bytes with the same id get their names by position."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import pytest

from decoder import TableDefinition
from decoder.model.results import Changes, Definitions
from tests.support.decoder.event_bytes import log_bytes
from tests.support.decoder.logs import (
    CUP,
    POT,
    decoded,
    gtid,
    insert,
    payload,
    query,
    transaction,
    xid,
)

Wrapped = Callable[[int, bytes], bytes]


def plain(number: int, events: bytes) -> bytes:
    return transaction(number, events)


def compressed(number: int, events: bytes) -> bytes:
    return gtid(number) + payload(query("BEGIN") + events + xid())


def log(wrapped: Wrapped, *statements: str) -> tuple[bytes, list[int]]:
    """Return a log with rows before and after each statement, and the LSNs of the statements."""
    content = log_bytes(wrapped(1, insert(CUP, (1, "a")) + insert(POT, (1,))))
    lsns = []
    for number, statement in enumerate(statements, 2):
        lsns.append(1 << 40 | len(content))
        content += gtid(10 * number) + query(statement)
        content += wrapped(10 * number + 1, insert(CUP, (number, "b")) + insert(POT, (2,)))
        content += wrapped(10 * number + 2, insert(CUP, (number, "c")))
    return content, lsns


@pytest.mark.parametrize("wrapped", [plain, compressed])
def test_equal_table_maps_get_the_names_valid_at_their_position(wrapped: Wrapped) -> None:
    swap = "ALTER TABLE cup RENAME COLUMN x TO y, RENAME COLUMN y TO x"
    content, (first, second) = log(wrapped, swap, f"/* back */ {swap}")

    def names(shown: TableDefinition, lsn: int, _pos: int) -> TableDefinition:
        order = "yx" if first <= lsn < second else "xy"
        columns = zip(shown.columns, order, strict=False)
        return replace(
            shown, columns=tuple(replace(c, name=name) for c, name in columns), named=True
        )

    found = [
        row
        for result in decoded(content, names=names)
        if isinstance(result, Changes) and result.table == "cup"
        for row in result.batch.to_pylist()
    ]
    found.sort(key=lambda row: row["__lsn"])
    assert [row["after"] for row in found] == [
        {"x": 1, "y": "a"},
        {"y": 2, "x": "b"},
        {"y": 2, "x": "c"},
        {"x": 3, "y": "b"},
        {"x": 3, "y": "c"},
    ]


@pytest.mark.parametrize("wrapped", [plain, compressed])
def test_definitions_are_repeated_only_after_schema_changes(
    wrapped: Wrapped,
) -> None:
    content, lsns = log(wrapped, "GRANT SELECT ON *.* TO u", "CREATE INDEX i ON cup (x)")
    reported = [
        (str(definition), lsn)
        for result in decoded(content, rows=False)
        if isinstance(result, Definitions)
        for lsn, _, definition in result.items
    ]
    assert [name for name, _ in reported] == ["shop.cup", "shop.pot"] * 2
    assert all(lsn > lsns[1] for _, lsn in reported[2:])
