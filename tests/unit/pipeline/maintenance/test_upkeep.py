"""When files are rewritten and how long Delta keeps removed ones; concurrent writers."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

import pyarrow as pa
import pytest

from pipeline.errors import ConcurrentRunError, LakeLostError
from pipeline.lake import Lake, Ledger, delta
from pipeline.lake.delta_log.model import LakeTable
from pipeline.lake.tables.by_spark import SparkTables
from pipeline.layer import LayerRun
from pipeline.maintenance.tables import Table
from pipeline.maintenance.upkeep import (
    LEAST_SPARE,
    TARGET_BYTES,
    Due,
    FileRetention,
    Keeper,
    needs_compaction,
    new_retention,
    purge_pays,
    read_days,
    soft_deleted_rows,
)
from pipeline.observe.progress import QuietProgress
from pipeline.settings import Settings

NO_SPARK: Any = None
TABLE = Table("gold/shop/t", LakeTable("s3a://lake/gold/shop/t", pa.schema([])), named=())
DAY = timedelta(days=1)
DELTA_DEFAULTS = FileRetention(7, 30)
Days = FileRetention


def test_steps_are_skipped_on_conflicts_and_a_lost_lake_is_an_error(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    ledger = Ledger.of(SparkTables(NO_SPARK, Lake("s3a://lake")), "shop")
    settings = Settings(source="shop", lake="s3a://lake")
    run = LayerRun(NO_SPARK, settings, ledger, QuietProgress())
    keeper = Keeper(run, "maintain shop 1")
    refusal: ConcurrentRunError = ConcurrentRunError("it conflicted with another writer 8 times.")

    def commit(*_: object, **__: object) -> None:
        raise refusal

    monkeypatch.setattr(delta, "commit", commit)
    monkeypatch.setattr(SparkTables, "exists", lambda *_: True)
    monkeypatch.setattr(SparkTables, "old_files", lambda *_: 1)
    monkeypatch.setattr(SparkTables, "_session", lambda *_: NO_SPARK)
    assert len(keeper.keep(TABLE, Due(files=2, old=1)).left) == 2
    assert not keeper.keep(TABLE, Due()).changed
    refusal = LakeLostError("another run took the lake over.")
    with pytest.raises(LakeLostError):
        keeper.keep(TABLE, Due(files=2))


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
def test_a_table_with_far_too_many_files_is_compacted(files: int, size: int, pays: bool) -> None:
    assert needs_compaction(files, size) == pays


@pytest.mark.parametrize(
    ("now", "cuts", "reach", "then"),
    [
        # Delta's default week is shorter than the cuts' with slack.
        (DELTA_DEFAULTS, 7, 3, Days(12, 30)),
        (Days(12, 30), 7, 7, None),
        (Days(12, 30), 7, 11, Days(17, 30)),
        (Days(17, 30), 7, 14, None),
        # A table that rarely changes: the log must reach back as far.
        (DELTA_DEFAULTS, 7, 40, Days(53, 53)),
        (Days(53, 53), 7, 50, None),
        # Written again: files need not be kept as long.
        (Days(53, 53), 7, 3, Days(12, 53)),
        (Days(400, 400), 7, 3, Days(12, 30)),
        (DELTA_DEFAULTS, 3, 1, None),
        (DELTA_DEFAULTS, 0, 0, Days(3, 30)),
        (DELTA_DEFAULTS, 90, 80, Days(115, 115)),
        # Delta requires the log to be kept as long as removed files.
        (Days(12, 5), 7, 3, Days(12, 30)),
        # Somebody else's setting is never shortened.
        (Days(90, 90, set_by_others=True), 7, 3, None),
        (Days(90, 30, set_by_others=True), 7, 3, Days(90, 90, set_by_others=True)),
        (Days(10, 30, set_by_others=True), 7, 14, Days(20, 30, set_by_others=True)),
    ],
)
def test_removed_files_are_kept_as_long_as_the_oldest_version_in_a_cut(
    now: FileRetention, cuts: int, reach: int, then: FileRetention | None
) -> None:
    found = new_retention(now, cuts * DAY, reach * DAY)
    assert found == then
    kept = found or now
    assert kept.deleted * DAY >= max(cuts, reach) * DAY + 2 * DAY
    assert kept.log >= kept.deleted
    assert new_retention(kept, cuts * DAY, reach * DAY) is None


def test_rows_soft_deleted_since_the_last_purge_are_counted() -> None:
    merge = {
        "numTargetDeletionVectorsAdded": "2",
        "numTargetRowsUpdated": "30",
        "numTargetRowsDeleted": "4",
        "numTargetRowsInserted": "100",
    }
    rewritten = {"numTargetDeletionVectorsAdded": "0", "numTargetRowsUpdated": "9"}
    delete = {"numDeletionVectorsAdded": "1", "numDeletedRows": "5"}
    commits = [("MERGE", merge), ("MERGE", rewritten), ("DELETE", delete), ("WRITE", {})]
    assert soft_deleted_rows(commits) == 39
    assert soft_deleted_rows([*commits, ("REORG", {}), ("DELETE", delete)]) == 39
    assert soft_deleted_rows([("OPTIMIZE", {}), *commits]) == 0


@pytest.mark.parametrize(
    ("soft_deleted", "rows", "pays"), [(0, 0, False), (1, 0, True), (10, 90, True), (10, 91, False)]
)
def test_a_purge_pays_from_a_tenth_of_the_rows(soft_deleted: int, rows: int, pays: bool) -> None:
    assert purge_pays(soft_deleted, rows) == pays


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
def test_delta_intervals_are_parsed_to_days(text: str | None, days: int) -> None:
    assert read_days(text, 7) == days
