"""Fixtures of runs: the log's lines, and the records that runs write."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from pipeline.lake.ledger.run_record import RunRecord
from pipeline.run import recorder
from tests.support.observe.captured_log import LogRecords, captured_log


@pytest.fixture
def log() -> Iterator[LogRecords]:
    with captured_log() as lines:
        yield lines


@pytest.fixture
def kept(monkeypatch: pytest.MonkeyPatch) -> list[RunRecord]:
    """The records that runs write."""
    records: list[RunRecord] = []
    monkeypatch.setattr(
        recorder, "append_run", lambda _spark, _lake, record: records.append(record)
    )
    return records
