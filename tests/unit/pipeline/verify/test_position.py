"""The executed GTID set of a server at gold's position, as recorded in the log's files."""

from __future__ import annotations

from typing import cast

import pytest
from pyspark.sql import SparkSession

from pipeline.bronze.tables import FileRow
from pipeline.layer import LayerRun
from pipeline.observe.progress import QuietProgress
from pipeline.settings import Settings
from pipeline.silver.decode.decode import OFFSET_BITS
from pipeline.source import GtidSet
from pipeline.verify import position
from pipeline.verify.position import GoldGtids, differing_gtids, executed_at, known_in
from tests.support.bronze.bronze_rows import file_row

NO_SPARK = cast(SparkSession, None)
A = "3e11fa47-71ca-11e1-9e33-c80aa9429562"
PURGED = [
    file_row("log.000003", 3, previous_gtids=f"{A}:1-10", gtids=f"{A}:11-20"),
    # Files 4 to 6 with the transactions 21 to 50 were purged, and the gap was accepted.
    file_row("log.000007", 7, previous_gtids=f"{A}:1-50", gtids=f"{A}:51-60"),
    file_row("log.000008", 8, previous_gtids=f"{A}:1-60", gtids=f"{A}:61-70"),
]
MARIADB = [
    file_row("log.000001", 1, previous_gtids="0-1-10", gtids="0-1-20"),
    file_row("log.000005", 5, previous_gtids="0-1-50,2-1-7", gtids="0-1-60"),
]


def gold_at(
    monkeypatch: pytest.MonkeyPatch, files: list[FileRow], ordinal: int, recorded: str | None
) -> GoldGtids:
    monkeypatch.setattr(position, "read_files", lambda *_: files)
    lsn = ordinal << OFFSET_BITS | 99 if ordinal else 0
    run = LayerRun.begin(NO_SPARK, Settings(source="shop", lake="lake"), QuietProgress())
    return executed_at(run, lsn, recorded)


@pytest.mark.parametrize(
    ("files", "ordinal", "recorded", "before", "everything"),
    [
        (PURGED, 3, f"{A}:11-15", f"{A}:1-10", f"{A}:1-15"),
        (PURGED, 7, f"{A}:11-20:51-55", f"{A}:1-50", f"{A}:1-55"),
        (PURGED, 8, f"{A}:11-20:51-65", f"{A}:1-60", f"{A}:1-65"),
        (MARIADB, 1, "0-1-15", "0-1-10", "0-1-15"),
        (MARIADB, 5, "0-1-55", "0-1-50,2-1-7", "0-1-55,2-1-7"),
        # Gold has nothing of the log yet.
        (PURGED, 0, f"{A}:11", f"{A}:1-10", f"{A}:1-11"),
        ([], 3, f"{A}:1-5", "", f"{A}:1-5"),
        # A snapshot without a transaction: seeded from an idle server.
        (PURGED[:1], 0, None, f"{A}:1-10", f"{A}:1-10"),
        (PURGED, 8, None, f"{A}:1-60", f"{A}:1-60"),
        ([], 0, None, "", ""),
    ],
)
def test_transactions_listed_in_the_log_as_earlier_are_included(
    monkeypatch: pytest.MonkeyPatch,
    files: list[FileRow],
    ordinal: int,
    recorded: str | None,
    before: str,
    everything: str,
) -> None:
    found = gold_at(monkeypatch, files, ordinal, recorded)
    assert (str(found.own), str(found.before)) == (str(GtidSet.of(recorded)), before)
    assert str(found.all) == everything


def test_all_gtids_in_or_before_the_files_are_known() -> None:
    for files, known in ((PURGED, f"{A}:1-70"), (MARIADB, "0-1-60,2-1-7"), ([], "")):
        assert str(known_in(files)) == known


def test_a_server_needs_golds_own_gtids_or_without_any_the_earlier_ones() -> None:
    own, before = GtidSet.of(f"{A}:11-20"), GtidSet.of(f"{A}:1-10")
    assert GoldGtids(own, before).needed == own
    assert GoldGtids(before=before).needed == before
    assert not GoldGtids().needed


def test_a_replica_that_lags_after_a_seed_has_another_state() -> None:
    later, earlier = differing_gtids(
        GoldGtids(before=GtidSet.of(f"{A}:1-10")), GtidSet.of(f"{A}:1-8")
    )
    assert (later, earlier) == ("", f"{A}:9-10")
