"""A lake whose gold has a published snapshot, without a table: `verify` starts Spark to read it."""

from __future__ import annotations

from pathlib import Path

from pipeline.gold import GoldState
from pipeline.lake import Lake, Ledger
from tests.support.spark.no_spark import NEVER_STARTED


def published(lake: Path, source: str = "mysql") -> Path:
    """Record a finished batch of gold in a new lake; return its folder."""
    ledger = Ledger(NEVER_STARTED, Lake(str(lake)), source)
    ledger.finish(ledger.propose("gold", GoldState().to_body()), {"cut": {}})
    return lake
