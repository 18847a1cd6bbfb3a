"""Publishing time and GTID set of a published snapshot."""

from __future__ import annotations

from datetime import datetime, timezone

import pytest

from pipeline.gold import Cut
from pipeline.gold.changes.log_facts import Facts
from pipeline.gold.plan.publication import gtids_at, published_at

BEFORE = "2026-11-22T12:00:00+00:00"


@pytest.mark.parametrize(
    ("last", "upto", "newer"),
    [(120, 150, True), (None, 150, False), (90, 150, False), (None, 100, False), (90, 100, False)],
    ids=["a commit", "seen before", "of a held table", "no further", "of a held table alone"],
)
def test_only_a_newer_commit_renews_the_publishing_time(
    last: int | None, upto: int, newer: bool
) -> None:
    facts = Facts(50, upto, last_lsn=last)
    published = published_at({"published_at": BEFORE}, 100, upto, facts)
    assert (published != BEFORE) is newer
    assert published is not None
    if newer:
        assert (datetime.now(timezone.utc) - datetime.fromisoformat(published)).total_seconds() < 60


def test_the_first_cut_is_published_now_and_an_unrecorded_one_never() -> None:
    assert published_at(None, 0, 0, Facts(0, 0)) is not None
    assert published_at({}, 100, 100, Facts(100, 100)) is None


A, B = "3e11fa47-71ca-11e1-9e33-c80aa9429562", "4e11fa47-71ca-11e1-9e33-c80aa9429562"


@pytest.mark.parametrize(
    ("before", "runs", "ends", "held"),
    [
        (None, [], [], ""),
        (None, [(A, 1, 5), (f"{A}:tag", 3, 3)], [], f"{A}:1-5:tag:3"),
        (f"{A}:1-5:tag:1", [(A, 6, 9), (f"{A}:tag", 2, 2)], [], f"{A}:1-9:tag:1-2"),
        (f"{A}:1-5", [(B, 1, 1)], [], f"{A}:1-5,{B}:1"),  # a replica took over
        ("0-1-100", [], ["0-2-101", "3-1-1"], "0-1-100,0-2-101,3-1-1"),
        ("0-1-100", [], ["0-1-3"], "0-1-3"),  # after RESET
    ],
)
def test_a_cuts_gtid_set_covers_what_the_tables_contain(
    before: str | None, runs: list[tuple[str, int, int]], ends: list[str], held: str
) -> None:
    facts = Facts(50, 150, gtids=tuple(runs), server_ends=tuple(ends))
    assert str(gtids_at(Cut(before), facts)) == held
