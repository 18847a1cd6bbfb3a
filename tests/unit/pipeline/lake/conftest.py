"""A table in a lake of its own, which delta-rs commits without pauses between attempts."""

from __future__ import annotations

from pathlib import Path

import pytest

from pipeline.lake import Lake
from pipeline.lake.delta_log.model import LakeTable
from pipeline.lake.tables.native import NativeTables
from tests.support.lake.native_rows import SCHEMA


@pytest.fixture
def table(tmp_path: Path) -> LakeTable:
    return LakeTable(str(tmp_path / "t"), SCHEMA, statistics=("n", "text"))


@pytest.fixture
def tables(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> NativeTables:
    monkeypatch.setattr("time.sleep", lambda _: None)
    return NativeTables(Lake(str(tmp_path)))
