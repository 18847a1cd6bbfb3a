"""When files are rewritten, and for how long Delta keeps what was removed."""

from __future__ import annotations

from datetime import timedelta

import pytest

from pipeline.maintenance.fit import (
    LEAST_SPARE,
    TARGET_BYTES,
    Kept,
    crowded,
    fitting,
    purge_pays,
    read_days,
    struck_out,
)

DAY = timedelta(days=1)
DELTAS = Kept(7, 30)


@pytest.mark.parametrize(
    ("files", "size", "pays"),
    [
        (0, 0, False),
        (1, 10, False),
        (LEAST_SPARE, 10, False),
        (LEAST_SPARE + 1, 10, True),
        (40, 39 * TARGET_BYTES, False),
        (79, 40 * TARGET_BYTES, False),
        (80, 40 * TARGET_BYTES, True),
    ],
)
def test_files_are_put_together_where_there_are_far_too_many(
    files: int, size: int, pays: bool
) -> None:
    assert crowded(files, size) == pays


@pytest.mark.parametrize(
    ("now", "cuts", "reach", "then"),
    [
        (DELTAS, 7, 3, Kept(12, 30)),  # Delta's week ends before the cuts' does
        (Kept(12, 30), 7, 7, None),
        (Kept(12, 30), 7, 11, Kept(17, 30)),
        (Kept(17, 30), 7, 14, None),
        (DELTAS, 7, 40, Kept(53, 53)),  # a table that rests: the log must reach as far
        (Kept(53, 53), 7, 50, None),
        (Kept(53, 53), 7, 3, Kept(12, 53)),  # it is written again: files need not stay
        (Kept(400, 400), 7, 3, Kept(12, 30)),
        (DELTAS, 3, 1, None),
        (DELTAS, 0, 0, Kept(3, 30)),
        (DELTAS, 90, 80, Kept(115, 115)),
        (Kept(12, 5), 7, 3, Kept(12, 30)),  # Delta allows no log that is shorter
        (Kept(90, 90, asked=True), 7, 3, None),  # somebody else's is never made less
        (Kept(90, 30, asked=True), 7, 3, Kept(90, 90, asked=True)),
        (Kept(10, 30, asked=True), 7, 14, Kept(20, 30, asked=True)),
    ],
)
def test_removed_files_stay_as_long_as_the_oldest_version_that_a_cut_names(
    now: Kept, cuts: int, reach: int, then: Kept | None
) -> None:
    found = fitting(now, cuts * DAY, reach * DAY)
    assert found == then
    kept = found or now
    assert kept.deleted * DAY >= max(cuts, reach) * DAY + 2 * DAY
    assert kept.log >= kept.deleted
    assert fitting(kept, cuts * DAY, reach * DAY) is None


def test_rows_are_counted_that_deletion_vectors_strike_out_since_the_last_purge() -> None:
    merge = {
        "numTargetDeletionVectorsAdded": "2",
        "numTargetRowsUpdated": "30",
        "numTargetRowsDeleted": "4",
        "numTargetRowsInserted": "100",
    }
    rewritten = {"numTargetDeletionVectorsAdded": "0", "numTargetRowsUpdated": "9"}
    delete = {"numDeletionVectorsAdded": "1", "numDeletedRows": "5"}
    commits = [("MERGE", merge), ("MERGE", rewritten), ("DELETE", delete), ("WRITE", {})]
    assert struck_out(commits) == 39
    assert struck_out([*commits, ("REORG", {}), ("DELETE", delete)]) == 39
    assert struck_out([("OPTIMIZE", {}), *commits]) == 0


@pytest.mark.parametrize(
    ("struck", "rows", "pays"), [(0, 0, False), (1, 0, True), (10, 90, True), (10, 91, False)]
)
def test_a_purge_pays_from_a_tenth_on(struck: int, rows: int, pays: bool) -> None:
    assert purge_pays(struck, rows) == pays


@pytest.mark.parametrize(
    ("text", "days"),
    [
        (None, 7),
        ("interval 1 week", 7),
        ("interval 12 days", 12),
        ("INTERVAL 36 HOURS", 1),
        ("interval 2 months", 7),
    ],
)
def test_durations_are_read_as_delta_has_them(text: str | None, days: int) -> None:
    assert read_days(text, 7) == days
