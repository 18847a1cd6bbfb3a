"""Segments inside transactions, and transactions larger than a window."""

from __future__ import annotations

from typing import Any

import pyarrow as pa
import pytest

import decoder
from decoder import SegmentDecoder, TypeOptions
from decoder.constants import MAGIC
from decoder.model.results import Changes, Definitions, Transactions
from decoder.model.segment import Segment
from tests.support.decoder.event_bytes import format_description, log_bytes, recorded
from tests.support.decoder.logs import (
    CUP,
    OVERRUN,
    POT,
    UUID_TEXT,
    Table,
    changed,
    decoded,
    faults,
    gtid,
    insert,
    query,
    transaction,
    transactions,
    xid,
)


def test_a_segment_inside_a_transaction_is_decoded_with_its_preamble() -> None:
    head = gtid(9) + query("BEGIN") + CUP.map()
    parts = [CUP.rows((1, "a"), end=False), CUP.rows((2, "b")), insert(POT, (1,)) + xid(9)]
    start = len(MAGIC) + len(format_description())
    split = start + len(head) + len(parts[0])
    segment = Segment("binlog.000003", 3, split, start, format_description() + head)
    results = decoded(parts[1] + parts[2], segment)
    assert changed(results) == [("cup", "insert", None, (2, "b")), ("pot", "insert", None, (1,))]
    (row,) = transactions(results)
    assert (row["__lsn"], row["start_pos"]) == (3 << 40 | start, start)
    assert row["end_pos"] == split + len(parts[1] + parts[2])
    assert row["bytes"] == len(parts[1] + parts[2])
    rows = [r for c in results if isinstance(c, Changes) for r in c.batch.to_pylist()]
    assert {r["__gtid"] for r in rows} == {f"{UUID_TEXT}:9"}
    assert min(r["__pos"] for r in rows) == split


def test_a_transaction_without_its_end_has_no_end_position() -> None:
    log = log_bytes(gtid(9), query("BEGIN"), insert(CUP, (1, "a")))
    results = decoded(log)
    (row,) = transactions(results)
    assert (row["end_pos"], row["commit_lsn"]) == (None, None)
    assert len(changed(results)) == 1


@pytest.mark.parametrize("step", [1, 7, 1000])
@pytest.mark.parametrize("name", ["plain", "compressed", "full_metadata"])
def test_results_do_not_depend_on_the_parts(name: str, step: int) -> None:
    log = recorded(name)
    unit = SegmentDecoder(Segment("binlog.000001", 1), TypeOptions())
    results = list(unit.decode(log[k : k + step] for k in range(0, len(log), step)))
    assert changed(results) == changed(decoded(log))


@pytest.mark.parametrize("make", [bytes, bytearray, memoryview, pa.py_buffer])
def test_read_accepts_any_buffer(make: Any) -> None:
    log = recorded("plain")
    assert sum(c.batch.num_rows for c in decoder.read(make(log))) == 6


@pytest.fixture
def small_windows(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(
        "decoder.framing.sliding_buffer.SlidingBuffer.__init__.__defaults__", (1 << 12,)
    )
    monkeypatch.setattr("decoder.stream.open_transaction.LIMIT", 1 << 14)


@pytest.mark.usefixtures("small_windows")
def test_a_row_larger_than_a_window_is_decoded() -> None:
    wide = Table(9, "pan", ("big varchar",) * 3)
    events = [transaction(n, insert(CUP, *[(k, "name") for k in range(50)])) for n in range(1, 60)]
    events.append(transaction(60, insert(wide, ("x" * 50_000,) * 3)))
    events += [transaction(n, insert(POT, (n,))) for n in range(61, 200)]
    results = decoded(log_bytes(*events))
    assert len(changed(results)) == 59 * 50 + 1 + 139
    assert len(transactions(results)) == 199
    assert len([r for r in results if isinstance(r, Transactions)]) > 5


LARGE = [CUP.map(), *(CUP.rows(*[(k + n, "name") for k in range(50)]) for n in range(0, 9000, 50))]


@pytest.mark.usefixtures("small_windows")
def test_a_transaction_too_large_to_hold_is_decoded_completely() -> None:
    log = log_bytes(
        transaction(1, insert(POT, (1,))), transaction(2, *LARGE), transaction(3, insert(POT, (3,)))
    )
    results = decoded(log)
    assert [after[0] for *_, after in changed(results)] == [1, *range(9000), 3]
    assert dict(transactions(results)[1]["rows"]) == {"shop.cup": 9000}
    assert len([r for r in results if isinstance(r, Definitions)]) <= 2


@pytest.mark.usefixtures("small_windows")
def test_a_transaction_too_large_to_hold_is_withheld_for_a_fault_at_its_end() -> None:
    log = log_bytes(
        transaction(1, insert(POT, (1,))),
        transaction(2, *LARGE, CUP.map(), OVERRUN),
        transaction(3, insert(POT, (3,))),
    )
    results = decoded(log)
    assert [after for *_, after in changed(results)] == [(1,), (3,)]
    assert [fault["tables"] for fault in faults(results)] == [["shop.cup"]]


@pytest.mark.usefixtures("small_windows")
@pytest.mark.parametrize("ends", [True, False])
def test_the_second_part_of_a_transaction_too_large_to_hold(ends: bool) -> None:
    head = format_description() + gtid(9) + query("BEGIN") + CUP.map()
    content = b"".join(LARGE[1:]) + (xid() + transaction(10, insert(POT, (1,))) if ends else b"")
    results = decoded(content, Segment("binlog.000003", 3, 50_000, 127, head))
    numbers = [after[0] for *_, after in changed(results)]
    assert numbers == [*range(9000), *([1] if ends else [])]
    rows = [r for c in results if isinstance(c, Changes) for r in c.batch.to_pylist()]
    assert {r["__lsn"] for r in rows if r["__gtid"] == f"{UUID_TEXT}:9"} == {3 << 40 | 127}
