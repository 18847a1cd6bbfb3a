"""The walk over rows: any number of columns, NULLs anywhere, and no byte beyond the event."""

from __future__ import annotations

import struct
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings, strategies as st

from decoder.constants import EventType
from decoder.rows.row_decoder import RowDecoder
from decoder.transactions.faults import Fault
from tests.support.decoder.event_bytes import event_bytes, log_bytes
from tests.support.decoder.logs import (
    BIG_VARCHAR,
    INT,
    LONGTEXT,
    VARCHAR,
    Table,
    changed,
    decoded,
    faults,
    transaction,
)

VALUES: dict[str, st.SearchStrategy[Any]] = {
    INT: st.none() | st.integers(-(1 << 31), (1 << 31) - 1),
    VARCHAR: st.none() | st.text(st.characters(codec="utf-8", exclude_characters="\0"), max_size=9),
    BIG_VARCHAR: st.none() | st.text("aö", max_size=300),
    LONGTEXT: st.none() | st.text("aö", max_size=300),
}
REPEATABLE = settings(derandomize=True, database=None, suppress_health_check=list(HealthCheck))


@st.composite
def tables_and_rows(draw: st.DrawFn) -> tuple[Table, list[tuple[Any, ...]]]:
    columns = tuple(draw(st.lists(st.sampled_from(list(VALUES)), min_size=1, max_size=12)))
    row = st.tuples(*(VALUES[column] for column in columns))
    return Table(5, "any", columns), draw(st.lists(row, min_size=1, max_size=6))


@REPEATABLE
@given(tables_and_rows())
def test_stored_rows_are_decoded(made: tuple[Table, list[tuple[Any, ...]]]) -> None:
    table, rows = made
    log = log_bytes(
        transaction(1, table.map(), table.rows(*rows)),
        transaction(2, table.map(), table.rows(*rows, *reversed(rows), kind=EventType.UPDATE_ROWS)),
    )
    found = changed(decoded(log))
    assert [after for *_, after in found[: len(rows)]] == rows
    images = [*rows, *reversed(rows)]
    assert [
        image for *_, before, after in found[len(rows) :] for image in (before, after)
    ] == images


@pytest.mark.parametrize("count", [1, 8, 9, 55, 56, 57, 63, 64, 65, 112, 250, 251, 300, 4096])
@pytest.mark.parametrize("columns", [(INT,), (VARCHAR,), (INT, INT, VARCHAR)], ids=str)
def test_any_number_of_columns(count: int, columns: tuple[str, ...]) -> None:
    kinds = (columns * count)[:count]
    table = Table(5, "wide", kinds)
    full = tuple(k if kind == INT else f"v{k}" for k, kind in enumerate(kinds))
    empty = (None,) * count
    every_third = tuple(None if k % 3 == 1 else value for k, value in enumerate(full))
    last = (*full[:-1], None)
    rows = [full, empty, every_third, last, full]
    log = log_bytes(transaction(1, table.map(), table.rows(*rows)))
    assert [after for *_, after in changed(decoded(log))] == rows


def test_nulls_of_a_block_do_not_affect_the_next() -> None:
    table = Table(5, "t", (INT, VARCHAR, INT))
    rows = [(None, None, n) if n % 200 < 100 else (n, f"x{n}", None) for n in range(3000)]
    log = log_bytes(
        *[transaction(k, table.map(), table.rows(*rows[k : k + 50])) for k in range(0, 3000, 50)]
    )
    assert [after for *_, after in changed(decoded(log))] == rows


def test_an_event_without_rows_is_ignored() -> None:
    table = Table(5, "t", (INT,))
    results = decoded(log_bytes(transaction(1, table.map(), table.rows(), table.rows((1,)))))
    assert len(changed(results)) == 1
    assert not faults(results)


def test_a_dummy_event_that_only_ends_a_statement_is_ignored() -> None:
    table = Table(5, "t", (INT,))
    dummy = event_bytes(
        EventType.WRITE_ROWS, b"\xff\xff\xff\0\0\0" + struct.pack("<HH", 1, 2) + b"\0"
    )
    results = decoded(log_bytes(transaction(1, table.map(), table.rows((1,), end=False), dummy)))
    assert not faults(results)
    assert len(changed(results)) == 1


BROKEN = Table(5, "t", (INT, VARCHAR, BIG_VARCHAR))
GOOD = BROKEN.rows((1, "abc", "defg"), (None, None, "x" * 300))


@pytest.mark.parametrize("removed", range(1, len(GOOD) - 19))
def test_a_truncated_event_is_a_fault_or_has_fewer_rows(removed: int) -> None:
    short = GOOD[: len(GOOD) - removed]
    short = short[:9] + struct.pack("<I", len(short)) + short[13:]
    results = decoded(log_bytes(transaction(1, BROKEN.map(), short)))
    rows = changed(results)
    assert bool(faults(results)) != bool(rows) or not rows
    assert len(rows) < 2


@pytest.mark.parametrize("prefix", [b"\xff\xff\xff\xff", b"\x00\x00\x00\x80", b"\xff\xff\xff\x7f"])
def test_a_length_of_gigabytes_is_a_fault(prefix: bytes) -> None:
    table = Table(5, "t", (LONGTEXT,))
    body = struct.pack("<Q", 5)[:6] + struct.pack("<HH", 1, 2) + b"\x01\xff" + b"\xfe" + prefix
    results = decoded(
        log_bytes(transaction(1, table.map(), event_bytes(EventType.WRITE_ROWS, body + b"tail")))
    )
    (fault,) = faults(results)
    assert fault["tables"] == ["shop.t"]


def test_groups_are_discarded_when_they_fill_memory(monkeypatch: pytest.MonkeyPatch) -> None:
    """A few bytes of bitmap define a group: thousands of them must not need as many blocks."""
    wide = Table(7, "wide", (INT,) * 12)
    events = []
    for number in range(1, 300):
        image = Table(7, "wide", (INT,) * number.bit_count()).image([number] * number.bit_count())
        head = wide.rows(present=struct.pack("<H", number))
        events.append(head[:9] + struct.pack("<I", len(head) + len(image)) + head[13:] + image)
    log = log_bytes(transaction(1, wide.map(), *events))
    expected = sorted(map(str, changed(decoded(log))))
    taken: list[int] = []
    forget = RowDecoder._forget_groups

    def noted(rows: RowDecoder) -> list[Fault]:
        taken.append(len(rows._blocks.members))
        return forget(rows)

    monkeypatch.setattr(RowDecoder, "_forget_groups", noted)
    monkeypatch.setattr("decoder.rows.blocks.FULL", 1 << 19)
    assert sorted(map(str, changed(decoded(log)))) == expected
    assert len(expected) == 299
    assert taken
    assert max(taken) < 150
