"""Removing what interrupted runs left: folders of the scratch space not in use, unused seeds."""

from __future__ import annotations

import os
from datetime import datetime, timedelta, timezone
from pathlib import Path

import pytest

from pipeline.lake import Lake, stores
from pipeline.maintenance.leftovers import KEEP, abandoned_scratch, abandoned_seeds, remove
from pipeline.schema_history import TableName
from pipeline.silver.plan.stored_seeds import Seed, begun_at, new_id, put_seed, refuse_seed

NOW = datetime.now(timezone.utc)
NAME = TableName("sh~op", "it em")


def put(lake: Lake, path: str, age: timedelta) -> Path:
    file = Path(lake.staging, path)
    stores.write(str(file), b"rows")
    at = (NOW - age).timestamp()
    os.utime(file, (at, at))
    return file


@pytest.fixture
def lake(tmp_path: Path) -> Lake:
    return Lake(str(tmp_path))


def test_folders_with_only_old_files_are_removed(lake: Lake) -> None:
    old, young = KEEP + timedelta(minutes=1), KEEP - timedelta(minutes=1)
    assert remove(abandoned_scratch(lake, NOW)) == 0
    going = [
        put(lake, "0a1b/part-1.parquet", old),
        put(lake, "shop/7-ff/x/part-1.parquet", old),
        put(lake, "left/3-ee/part-1.parquet", old),
    ]
    staying = [
        put(lake, "2c3d/part-2.parquet", young),
        put(lake, "shop/8-aa/part-1.parquet", young),
        put(lake, "shop/8-aa/part-2.parquet", old),
    ]
    found = {Path(folder).relative_to(lake.staging).as_posix() for folder in _found(lake)}
    assert found == {"0a1b", "left", "shop/7-ff"}
    assert remove(abandoned_scratch(lake, NOW)) == 3
    assert [file.exists() for file in (*going, *staying)] == [False] * 3 + [True] * 3


def _found(lake: Lake) -> list[str]:
    return list(abandoned_scratch(lake, NOW))


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


def test_old_refused_and_unfinished_seeds_are_removed(lake: Lake) -> None:
    kept, *going = whole(lake), refused(lake), begun(lake)
    now = datetime.now(timezone.utc)
    assert list(abandoned_seeds(lake, "live", now)) == []
    later = now + KEEP + timedelta(seconds=1)
    found = {Path(folder).name for folder in abandoned_seeds(lake, "live", later)}
    assert found == set(going)
    assert remove(abandoned_seeds(lake, "live", later)) == 2
    assert stores.names_in(lake.seeds("live")) == [kept]
    assert remove(abandoned_seeds(lake, "live", later)) == 0


def test_a_seed_finished_during_the_removal_is_kept(
    lake: Lake, monkeypatch: pytest.MonkeyPatch
) -> None:
    _, second = sorted((begun(lake), begun(lake)))
    remove_folder = stores.remove

    def meanwhile(folder: str) -> None:
        finished(lake, second)
        remove_folder(folder)

    monkeypatch.setattr(stores, "remove", meanwhile)
    later = datetime.now(timezone.utc) + KEEP + timedelta(seconds=1)
    assert remove(abandoned_seeds(lake, "live", later)) == 1
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
