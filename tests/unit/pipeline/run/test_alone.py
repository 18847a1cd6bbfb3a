"""A run holds the lake's lease, from the command line and from Python."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from types import SimpleNamespace
from typing import Any

import pytest

from pipeline.errors import ConcurrentRunError
from pipeline.observe import LayerReport
from pipeline.observe.progress import QuietProgress
from pipeline.run import commands as runs, recorder
from pipeline.settings import Settings
from tests.support.observe.captured_log import captured_log

SPARK: Any = SimpleNamespace(version="4.2.0", conf={"spark.app.id": "app-1"})
SETTINGS = Settings.load(None, source="shop", lake="s3a://lake/shop")


@pytest.fixture
def done(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The steps of a run, in order, in a lake that does not exist."""
    steps: list[str] = []

    def bronze(*_: object) -> LayerReport:
        steps.append("bronze")
        return LayerReport("bronze")

    monkeypatch.setattr(runs, "COMMANDS", {"ingest": {"bronze": bronze}})
    monkeypatch.setattr(recorder, "append_run", lambda *_: steps.append("record"))
    return steps


def refuse_at(monkeypatch: pytest.MonkeyPatch, done: list[str], *, end: bool) -> None:
    """Have a concurrent run hold the lease from the start, or take it over before the end."""

    @contextmanager
    def only_writer(lake: str, conf: Mapping[str, str]) -> Iterator[None]:
        assert (lake, conf) == (SETTINGS.lake, SETTINGS.spark.conf)
        if not end:
            raise ConcurrentRunError("another run is writing it.")
        done.append("held")
        yield
        raise ConcurrentRunError("another run took it over.")

    monkeypatch.setattr(runs, "only_writer", only_writer)


@pytest.mark.parametrize(("end", "steps"), [(False, []), (True, ["held", "bronze", "record"])])
def test_a_run_without_the_lease_writes_nothing_and_logs_the_reason(
    monkeypatch: pytest.MonkeyPatch, done: list[str], end: bool, steps: list[str]
) -> None:
    refuse_at(monkeypatch, done, end=end)
    with captured_log() as log, pytest.raises(ConcurrentRunError, match="another run"):
        runs.run_command(SPARK, SETTINGS, QuietProgress(), "ingest")
    assert done == steps
    (line,) = log.of("run_failed")
    assert (line["retryable"], line["exit_code"]) == (True, 1)
    assert "another run" in line["error"]
