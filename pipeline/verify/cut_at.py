"""The batch in which gold was at the place of a server's snapshot, once there is one."""

from __future__ import annotations

import time

from pyspark.sql import SparkSession

from pipeline.bronze.files import read_files
from pipeline.gold.state import NO_LSN, GoldState
from pipeline.gold.until import last_wanted
from pipeline.ledger import Ledger
from pipeline.progress import Progress
from pipeline.settings import Settings
from pipeline.silver import segments
from pipeline.silver.standing import silver_standing
from pipeline.verify.server_file import ServerFile

PAUSE = 5.0
"""Seconds between two looks."""


def batch_at(
    spark: SparkSession,
    settings: Settings,
    snapshot: ServerFile,
    patience: float,
    progress: Progress,
) -> int | None:
    """The batch of gold that published the snapshot's cut, waiting for it so many seconds.

    None where there is none by then, where gold went past that place, or where the server has no
    log: the last cut is then compared, and what the one has and the other has not is told.
    """
    if snapshot.file is None or snapshot.position is None:
        return None
    ends = time.monotonic() + patience
    ledger = Ledger(spark, settings.layout, settings.source)
    with progress.task("wait for gold's cut", None, "looks") as task:
        while True:
            ledger.refresh()
            wanted = _last_before(spark, settings, ledger, snapshot.file, snapshot.position)
            if wanted is not None and GoldState.of(ledger).cut_lsn >= wanted:
                return ledger.batch_with("gold", "cut_lsn", wanted)
            if time.monotonic() >= ends:
                return None
            time.sleep(min(PAUSE, max(ends - time.monotonic(), 0)))
            task.advance()


def _last_before(
    spark: SparkSession, settings: Settings, ledger: Ledger, file: str, position: int
) -> int | None:
    """The LSN of the last transaction before the place; None as long as silver has not all."""
    lake, source = settings.layout, settings.source
    silver = silver_standing(ledger).plan
    row = next((row for row in reversed(read_files(spark, lake, source)) if row.file == file), None)
    if silver is None or row is None or row.ingested_upto < position:
        return None
    place = row.ordinal, position
    if silver.end < place and segments.between(spark, lake, source, silver.end, place):
        return None
    wanted = settings.model_copy(update={"until": f"{file}:{position}"})
    return last_wanted(spark, wanted, NO_LSN, silver.cut_lsn)
