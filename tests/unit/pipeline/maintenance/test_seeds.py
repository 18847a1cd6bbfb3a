"""Removing refused and unfinished seeds."""

from __future__ import annotations

from datetime import datetime, timedelta, timezone
from pathlib import Path

import pytest

from pipeline.catalog import TableName
from pipeline.lake import Lake, stores
from pipeline.maintenance.seeds import KEEP, abandoned_seeds, remove_abandoned_seeds
from pipeline.silver.plan.seeds import Seed, begun_at, new_id, put_seed, refuse_seed

NAME = TableName("sh~op", "it em")


def begun(lake: Lake) -> str:
    """Return the id of an unfinished seed with some rows."""
    seed = new_id(NAME)
    stores.write(f"{lake.seeds('live')}/{seed}/rows/000000/a/rows.parquet", b"rows")
    return seed


def whole(lake: Lake) -> str:
    return finished(lake, begun(lake))


def finished(lake: Lake, seed: str) -> str:
    place = ("b.000001", 4)
    put_seed(lake, "live", Seed(seed, NAME.schema, NAME.table, "", place, place, True, 1))
    return seed


def refused(lake: Lake) -> str:
    seed = whole(lake)
    refuse_seed(lake, "live", seed, "its table is another")
    return seed


@pytest.fixture
def lake(tmp_path: Path) -> Lake:
    return Lake(str(tmp_path))


def test_old_refused_and_unfinished_seeds_are_removed(lake: Lake) -> None:
    kept, *going = whole(lake), refused(lake), begun(lake)
    now = datetime.now(timezone.utc)
    assert list(abandoned_seeds(lake, "live", now)) == []
    later = now + KEEP + timedelta(seconds=1)
    assert set(abandoned_seeds(lake, "live", later)) == set(going)
    assert remove_abandoned_seeds(lake, "live", later) == 2
    assert stores.names_in(lake.seeds("live")) == [kept]
    assert remove_abandoned_seeds(lake, "live", later) == 0


def test_a_seed_finished_during_the_removal_is_kept(
    lake: Lake, monkeypatch: pytest.MonkeyPatch
) -> None:
    _, second = sorted((begun(lake), begun(lake)))
    remove = stores.remove

    def meanwhile(folder: str) -> None:
        finished(lake, second)
        remove(folder)

    monkeypatch.setattr(stores, "remove", meanwhile)
    later = datetime.now(timezone.utc) + KEEP + timedelta(seconds=1)
    assert remove_abandoned_seeds(lake, "live", later) == 1
    assert stores.names_in(lake.seeds("live")) == [second]


def test_other_folders_are_ignored(lake: Lake) -> None:
    for name in ("notes", "shop~item~yesterday"):
        stores.write(f"{lake.seeds('live')}/{name}/file", b"")
    later = datetime.now(timezone.utc) + 2 * KEEP
    assert list(abandoned_seeds(lake, "live", later)) == []


def test_a_seed_id_has_the_time_when_it_began() -> None:
    before = datetime.now(timezone.utc)
    began = begun_at(new_id(NAME))
    assert began is not None
    assert before <= began <= datetime.now(timezone.utc)
