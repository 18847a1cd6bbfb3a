"""Fixtures of the end-to-end tests: all layers in this process, in the shared session."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from pipeline.observe import LayerReport
from pipeline.observe.progress import QuietProgress
from pipeline.settings import Settings

if TYPE_CHECKING:
    from playwright.sync_api import Browser
    from pyspark.sql import SparkSession

Run = Callable[..., list[LayerReport]]


@pytest.fixture(scope="session")
def run(spark: SparkSession) -> Run:
    """Return `run(binlogs, lake, **settings)`: one whole run, like `binlake run`."""
    from tests.support.lake.run_layers import run_layers

    def run_once(binlogs: Path | str, lake: Path, **settings: object) -> list[LayerReport]:
        chosen = Settings.load(None, source="e2e", binlogs=str(binlogs), lake=str(lake), **settings)
        return run_layers(spark, chosen, QuietProgress())

    return run_once


@pytest.fixture(scope="module")
def chromium() -> Iterator[Browser]:
    """Return Chromium without a window."""
    from tests.support.programs.chromium import browser, why_unavailable

    if reason := why_unavailable():
        pytest.skip(reason)
    with browser() as started:
        yield started
