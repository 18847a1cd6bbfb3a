"""Segments with transactions that were there before: these are told, and nothing else of them."""

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
    """The GTIDs of some of a recording's transactions, as a set for its only segment."""
    found = transactions(segments, log)
    return {(1, 0): ",".join(found[index]["gtid"] for index in indexes)}


@pytest.mark.parametrize("parts", [1, 3])
@pytest.mark.parametrize("seen", [(0,), (1,), (0, 1), (2,), (1, 3), (0, 2), (0, 1, 2, 3)])
def test_of_what_was_there_before_only_the_transaction_is_told(
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


def test_the_survey_meets_no_statement_of_them_and_every_definition_of_the_others(
    segments: Segments,
) -> None:
    seen = named(segments, 0, 1)
    (definition,) = surveyed(segments("plain"), "definition", seen)
    (first,) = surveyed(segments("plain"), "definition")
    assert definition["content"] == first["content"]
    assert definition["lsn"] == transactions(segments)[2]["__lsn"] > first["lsn"]
    assert len(surveyed(segments("plain"), "statement")) == 1
    assert surveyed(segments("plain"), "statement", seen) == []


def test_a_segment_of_which_all_was_there_before_still_moves_the_cut(segments: Segments) -> None:
    seen = named(segments, 0, 1, 2, 3)
    assert surveyed(segments("plain"), "definition", seen) == []
    (last,) = surveyed(segments("plain"), "segment")
    # Which server wrote it stands in what was cut out.
    assert surveyed(segments("plain"), "segment", seen) == [{**last, "content": None}]


def test_tagged_gtids_and_compressed_transactions_are_known_too(segments: Segments) -> None:
    for log in ("tagged", "compressed"):
        every = transactions(segments, log)
        seen = named(segments, *range(1, len(every)), log=log)
        decode = Decode(TypeOptions(), everything, table_ids(segments(log)), seen=seen)
        found = decoded(decode, segments(log))
        told = sorted(found[TRANSACTIONS], key=lambda row: row["__lsn"])
        assert [row["seen_before"] for row in told] == [False, *[True] * (len(every) - 1)]
        assert not any(target.startswith("changes") for target in found)


def test_what_has_no_gtid_is_never_known(segments: Segments) -> None:
    ids = table_ids(segments("no_gtid"))
    whole = decoded(Decode(TypeOptions(), everything, ids), segments("no_gtid"))
    seen = {(1, 0): "00000000-0000-0000-0000-000000000000:1-99"}
    again = decoded(Decode(TypeOptions(), everything, ids, seen=seen), segments("no_gtid"))
    assert again == whole


def test_faults_of_what_was_there_before_are_none(segments: Segments) -> None:
    """Statements that change rows, which are faults."""
    every = transactions(segments, "statements")
    seen = named(segments, *range(len(every)), log="statements")
    decode = Decode(TypeOptions(), everything, {}, seen=seen)
    assert set(decoded(decode, segments("statements"))) == {TRANSACTIONS}
