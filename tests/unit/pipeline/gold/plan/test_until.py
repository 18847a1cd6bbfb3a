"""Checks of the stop position before a full refresh begins; without Spark."""

from __future__ import annotations

from contextlib import nullcontext
from typing import Any

import pyarrow as pa
import pytest

from pipeline.bronze.tables import FileRow
from pipeline.errors import SettingsError
from pipeline.gold import GoldState, job
from pipeline.gold.plan import until as until_module
from pipeline.gold.plan.until import require_in_log
from pipeline.observe.progress import QuietProgress
from pipeline.settings import Settings
from pipeline.silver.plan.batch_plan import Refresh, RefreshStart, SilverPlan
from pipeline.source import GtidSet
from tests.support.bronze.bronze_rows import file_row
from tests.support.lake.memory_ledger import MemoryLedger

UUID = "3e11fa47-71ca-11e1-9e33-c80aa9429562"
MYSQL = file_row("log.000001", 1, gtids=f"{UUID}:1-5,{UUID}:tag:1-2")
MARIADB = file_row("log.000002", 2, gtids="0-1-5")
RELAY = file_row("log.000003", 3, gtids=None)


def until(place: str) -> Settings:
    return Settings(source="shop", until=place)


@pytest.mark.parametrize(
    ("place", "files"),
    [
        (f"{UUID}:6", [MYSQL]),
        (f"{UUID}:tag:3", [MYSQL]),
        ("0-1-6", [MYSQL, MARIADB]),
        ("log.000009:4", [MYSQL, RELAY]),
    ],
)
def test_positions_missing_in_bronze_are_refused(place: str, files: list[FileRow]) -> None:
    with pytest.raises(SettingsError, match="until: ") as raised:
        require_in_log(files, until(place))
    assert raised.value.exit_code == 2


@pytest.mark.parametrize(
    ("place", "files"),
    [
        (f"{UUID}:5", [MYSQL]),
        (f"{UUID.upper()}:tag:2", [MYSQL]),
        ("0-1-5", [MYSQL, MARIADB]),
        (f"{UUID}:6", [MYSQL, RELAY]),  # a relay log's GTIDs are not known
        ("log.000001:9999", [MYSQL]),
        ("77", [MYSQL]),
        ("2026-11-22T10:00:00Z", [MYSQL]),
    ],
)
def test_positions_that_bronze_may_have_are_accepted(place: str, files: list[FileRow]) -> None:
    require_in_log(files, until(place))
    require_in_log(files, Settings(source="shop"))


@pytest.mark.parametrize("due", [False, True])
def test_gold_is_not_rebuilt_for_a_position_that_does_not_exist(
    monkeypatch: pytest.MonkeyPatch, due: bool
) -> None:
    settings, ledger = until(f"{UUID}:6"), MemoryLedger()
    plan = SilverPlan((1, 0), (3, 900), 3 << 40, conf=settings.decoding)
    ledger.did("silver", plan.to_body())
    ledger.did("gold", GoldState(1, 3 << 40).to_body())
    if due:
        begins = RefreshStart("asked", 0, (), settings.decoding)
        ledger.did("silver", SilverPlan((3, 900), (3, 900), 0, begins=begins).to_body())
        restarted = SilverPlan(
            (1, 0), (3, 900), 3 << 40, conf=settings.decoding, refresh=Refresh(batch=2)
        )
        ledger.did("silver", restarted.to_body())
    asked: list[Any] = []

    def nowhere(*place: Any) -> int:
        asked.append(place[2:])
        raise SettingsError("is not in silver.", key="until")

    monkeypatch.setattr("pipeline.layer.Ledger", lambda *_: ledger)
    monkeypatch.setattr(job, "signed_session", nullcontext)
    monkeypatch.setattr(job, "last_wanted", nowhere)
    command = job.run if due else job.refresh
    with pytest.raises(SettingsError, match="not in silver"):
        command(None, settings, QuietProgress())
    assert asked == [(0, 3 << 40)]
    last = ledger.last("gold")
    assert last is not None
    assert (last.batch, ledger.open("gold")) == (1, None)


def test_64_bit_numbers_are_compared_exactly() -> None:
    """MariaDB's sequence numbers may be that large."""
    written = pa.chunked_array([["0-1-18446744073709551615", "0-1-9", "1-1-3", None]])
    gtids = GtidSet.of("0-1-18446744073709551614,1-1-3")
    assert until_module._among(written, gtids).to_pylist() == [False, True, True, True]
