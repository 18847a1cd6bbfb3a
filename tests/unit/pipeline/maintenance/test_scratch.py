"""Removing folders of interrupted runs from the scratch space, but not those in use."""

from __future__ import annotations

import os
from datetime import datetime, timedelta, timezone
from pathlib import Path

import pytest

from pipeline.lake import Lake, stores
from pipeline.maintenance.scratch import KEEP, abandoned_scratch, remove_abandoned_scratch

NOW = datetime.now(timezone.utc)


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
    assert remove_abandoned_scratch(lake, NOW) == 0
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
    assert remove_abandoned_scratch(lake, NOW) == 3
    assert [file.exists() for file in (*going, *staying)] == [False] * 3 + [True] * 3


def _found(lake: Lake) -> list[str]:
    return list(abandoned_scratch(lake, NOW))
