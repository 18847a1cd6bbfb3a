from __future__ import annotations

from typing import Any

import pyarrow as pa
import pytest

from decoder import Segmenter, TypeOptions
from decoder.events.rows import RowsFlag
from pipeline.silver.decode.decode import PARTS, Decode
from pipeline.silver.decode.task_output import merge_parts
from tests.support.decoder.event_bytes import log_bytes
from tests.support.decoder.logs import POT, gtid, query, xid
from tests.unit.pipeline.silver.conftest import SEGMENT_ROWS


def part(lsn: int, start: int, end: int | None = None, **known: Any) -> dict[str, Any]:
    row: dict[str, Any] = {
        **dict.fromkeys(("gtid", "xid", "committed_at", "original_committed_at", "commit_lsn")),
        **dict.fromkeys(("xa", "xa_end", "rolled_back_rows", "seen_before")),
        **dict.fromkeys(("cascades", "cascades_logged", "cascades_logged_rows")),
        "file": "binlog.000001",
        "server_id": 1,
        "rolled_back": None,
    }
    return {
        **row,
        "__lsn": lsn,
        "start_pos": start,
        "end_pos": end,
        "rows": {},
        "bytes": 10,
        **known,
    }


def test_the_parts_of_a_transaction_become_one_row() -> None:
    parts = [
        part(
            5,
            700,
            900,
            xid=77,
            commit_lsn=5,
            xa="1:61:",
            xa_end="one_phase",
            seen_before=False,
            rows={"s.t": 2, "s.u": 1},
        ),
        part(5, 100, gtid="a:1", rows={"s.t": 3}, rolled_back=[{"start": 1, "end": 2}]),
        part(5, 400, rows={}, rolled_back=[{"start": 3, "end": 4}]),
    ]
    (merged,) = merge_parts(parts)
    assert (merged["start_pos"], merged["end_pos"], merged["bytes"]) == (100, 900, 30)
    assert (merged["gtid"], merged["xid"], merged["commit_lsn"]) == ("a:1", 77, 5)
    assert (merged["xa"], merged["xa_end"]) == ("1:61:", "one_phase")
    assert merged["seen_before"] is False
    assert dict(merged["rows"]) == {"s.t": 5, "s.u": 1}
    assert merged["rolled_back"] == [{"start": 1, "end": 2}, {"start": 3, "end": 4}]


@pytest.mark.parametrize(
    ("cascades_of_parts", "merged"),
    [
        ((None, None), None),
        (("logged", None, "logged"), "logged"),
        (("unlogged", "mixed"), "mixed"),
        (("logged", "unlogged"), "unknown"),
        (("logged", "mixed"), "unknown"),
    ],
)
def test_cascades_of_parts_are_merged(
    cascades_of_parts: tuple[str | None, ...], merged: str | None
) -> None:
    parts = [part(5, 100 * n, cascades=cascades) for n, cascades in enumerate(cascades_of_parts)]
    assert [row["cascades"] for row in merge_parts(parts)] == [merged]


def parts_of(log: bytes, target: int) -> list[dict[str, Any]]:
    """Return the transactions that span the segments of a log, part by part."""
    segmenter = Segmenter(target=target, limit=target)
    segmenter.feed(log)
    segmenter.finish()
    rows = [
        {
            "file": "binlog.000001",
            "ordinal": 1,
            "start_pos": bounds.start.position,
            "part": 0,
            "transaction_pos": bounds.transaction_pos,
            "preamble": bounds.preamble,
            "content": log[bounds.start.position : bounds.end.position],
        }
        for bounds in segmenter.segments
    ]
    batch = pa.RecordBatch.from_pylist(rows, schema=SEGMENT_ROWS)
    decode = Decode(TypeOptions(), lambda *_: True, {})
    parts = [found for target, found in decode([batch]) if target == PARTS]
    return [row for found in parts for row in found.to_pylist()]


@pytest.mark.parametrize("target", [150, 300])
def test_cascades_logged_in_one_part_do_not_apply_to_the_next(target: int) -> None:
    unchecked = int(RowsFlag.NO_FOREIGN_KEY_CHECKS)
    flags = [unchecked, 0] * 6
    events = [POT.map() + POT.rows((n,), flags=flag) for n, flag in enumerate(flags)]
    before = gtid(1) + query("BEGIN")
    log = log_bytes(before, *events, xid())
    first = len(log) - len(xid()) - sum(map(len, events))
    places = [first + sum(map(len, events[:n])) + len(POT.map()) for n in range(len(events))]
    parts = parts_of(log, target)
    (merged,) = merge_parts({**part, "rows": dict(part["rows"] or ())} for part in parts)
    assert len(parts) > 2
    assert merged["start_pos"] == merged["__lsn"] & ((1 << 40) - 1)
    spans = merged["cascades_logged"] or []
    logged = [any(one["start"] <= place < one["end"] for one in spans) for place in places]
    assert merged["cascades"] == "mixed"
    assert logged == [flag != 0 for flag in flags]


def test_transactions_stay_separate_and_unknown_fields_are_null() -> None:
    merged = merge_parts([part(9, 900, 950), part(5, 100)])
    assert [row["__lsn"] for row in merged] == [5, 9]
    assert merged[0]["end_pos"] is None
    assert merged[0]["rolled_back"] is None
