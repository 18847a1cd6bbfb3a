"""Appending to tables of changes that a full refresh has emptied; without Spark."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest
from pyspark.errors import AnalysisException

from pipeline.interpreted import FEW
from pipeline.lake import Lake
from pipeline.progress import QuietProgress
from pipeline.settings import Settings
from pipeline.silver import tables
from pipeline.silver.decode import table_target
from pipeline.silver.plan import SilverPlan, planned_tables
from pipeline.silver.refresh import Refresh
from pipeline.silver.staging import Staging
from pipeline.silver.tables import write_tables
from tests.support.made_silver import definition


class Empty(Staging):
    """Staging of which no row is looked at."""

    def unpacked(self, target: str, schema: Any) -> Any:
        """Nothing."""


def write(monkeypatch: pytest.MonkeyPatch, columns: list[str], refresh: Refresh) -> list[str]:
    """What `mergeSchema` was at each try of appending to a table that has these columns."""
    tries: list[str] = []

    def append(*_: Any, options: dict[str, str], **__: Any) -> None:
        tries.append(options["mergeSchema"])
        if "after" not in columns and tries[-1] == "false":
            raise AnalysisException("A schema mismatch detected when writing")
        if "other" in columns:
            raise AnalysisException("Cannot merge")

    monkeypatch.setattr(tables.delta, "append_once", append)
    monkeypatch.setattr(tables.delta, "exists", lambda *_: True)
    monkeypatch.setattr(tables.delta, "read", lambda *_: SimpleNamespace(columns=columns))
    planned = planned_tables([(definition(), 1)])
    plan = SilverPlan((1, 0), (2, 0), 1 << 40, tables=planned, refresh=refresh)
    counts = {table_target(planned[0].table_id): FEW + 1}
    settings, task = Settings(source="shop"), QuietProgress().task("tables")
    staging = Empty(None, "")
    assert write_tables(staging, Lake("/lake"), settings, plan, 1, counts, task)
    return tries


def test_a_table_that_another_source_has_left_empty_gets_its_columns_again(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    whole, empty = ["__lsn", "before", "after"], ["__lsn"]
    assert write(monkeypatch, whole, Refresh()) == ["false"]
    assert write(monkeypatch, empty, Refresh()) == ["false", "true"]
    assert write(monkeypatch, empty, Refresh(batch=2)) == ["true"]


def test_a_table_that_has_them_is_not_changed(monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(AnalysisException, match="Cannot merge"):
        write(monkeypatch, ["__lsn", "before", "after", "other"], Refresh())
