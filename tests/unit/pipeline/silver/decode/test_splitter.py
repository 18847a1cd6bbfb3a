"""Segments with transactions that the lake already has: only these transactions are reported."""

from __future__ import annotations

from typing import Any

import pytest

from decoder import TypeOptions
from pipeline.silver.decode.decode import FAULTS, STATEMENTS, TRANSACTIONS, Decode
from tests.unit.pipeline.silver.conftest import Segments
from tests.unit.pipeline.silver.decode.test_decode import decoded, everything, surveyed, table_ids


def transactions(segments: Segments, log: str = "plain") -> list[dict[str, Any]]:
    decode = Decode(TypeOptions(), everything, table_ids(segments(log)))
    return decoded(decode, segments(log))[TRANSACTIONS]


def named(segments: Segments, *indexes: int, log: str = "plain") -> dict[tuple[int, int], str]:
    """Return the GTIDs of some of a recording's transactions, as a set for its only segment."""
    found = transactions(segments, log)
    return {(1, 0): ",".join(found[index]["gtid"] for index in indexes)}


@pytest.mark.parametrize("parts", [1, 3])
@pytest.mark.parametrize("seen", [(0,), (1,), (0, 1), (2,), (1, 3), (0, 2), (0, 1, 2, 3)])
def test_a_seen_transaction_is_reported_without_its_rows(
    segments: Segments, seen: tuple[int, ...], parts: int
) -> None:
    """The recording: CREATE TABLE, three rows inserted, two updated, one deleted."""
    ids = table_ids(segments("plain"))
    whole = decoded(Decode(TypeOptions(), everything, ids), segments("plain"))
    lsns = [whole[TRANSACTIONS][index]["__lsn"] for index in seen]
    decode = Decode(TypeOptions(), everything, ids, seen=named(segments, *seen))
    found = decoded(decode, segments("plain", parts=parts))
    for target in ("changes-0", STATEMENTS):
        kept = [row for row in whole[target] if row["__lsn"] not in lsns]
        assert found.get(target, []) == kept
    assert FAULTS not in found
    rows = {row["__lsn"]: row for row in found[TRANSACTIONS]}
    assert sorted(rows) == [row["__lsn"] for row in whole[TRANSACTIONS]]
    for row in whole[TRANSACTIONS]:
        again = rows[row["__lsn"]]
        if row["__lsn"] not in lsns:
            assert again == row
        else:
            assert (again["seen_before"], again["commit_lsn"], again["rows"]) == (True, None, None)
            assert {again[n] == row[n] for n in ("gtid", "file", "end_pos", "committed_at")} == {
                True
            }


def test_the_survey_skips_seen_statements_but_no_new_definition(
    segments: Segments,
) -> None:
    seen = named(segments, 0, 1)
    (definition,) = surveyed(segments("plain"), "definition", seen)
    (first,) = surveyed(segments("plain"), "definition")
    assert definition["content"] == first["content"]
    assert definition["lsn"] == transactions(segments)[2]["__lsn"] > first["lsn"]
    assert len(surveyed(segments("plain"), "statement")) == 1
    assert surveyed(segments("plain"), "statement", seen) == []


def test_a_fully_seen_segment_still_advances_the_last_transaction(segments: Segments) -> None:
    seen = named(segments, 0, 1, 2, 3)
    assert surveyed(segments("plain"), "definition", seen) == []
    (last,) = surveyed(segments("plain"), "segment")
    # The server's version is in the removed part.
    assert surveyed(segments("plain"), "segment", seen) == [{**last, "content": None}]


def test_tagged_gtids_and_compressed_transactions_are_recognized(segments: Segments) -> None:
    for log in ("tagged", "compressed"):
        every = transactions(segments, log)
        seen = named(segments, *range(1, len(every)), log=log)
        decode = Decode(TypeOptions(), everything, table_ids(segments(log)), seen=seen)
        found = decoded(decode, segments(log))
        rows = sorted(found[TRANSACTIONS], key=lambda row: row["__lsn"])
        assert [row["seen_before"] for row in rows] == [False, *[True] * (len(every) - 1)]
        assert not any(target.startswith("changes") for target in found)


def test_transactions_without_a_gtid_are_never_seen(segments: Segments) -> None:
    ids = table_ids(segments("no_gtid"))
    whole = decoded(Decode(TypeOptions(), everything, ids), segments("no_gtid"))
    seen = {(1, 0): "00000000-0000-0000-0000-000000000000:1-99"}
    again = decoded(Decode(TypeOptions(), everything, ids, seen=seen), segments("no_gtid"))
    assert again == whole


def test_seen_transactions_have_no_faults(segments: Segments) -> None:
    """Faults are statements that change rows."""
    every = transactions(segments, "statements")
    seen = named(segments, *range(len(every)), log="statements")
    decode = Decode(TypeOptions(), everything, {}, seen=seen)
    assert set(decoded(decode, segments("statements"))) == {TRANSACTIONS}
