"""Places in the log at which gold publishes a cut on its way, for who wants to compare it there.

Whoever has a snapshot of the server asks for the place that it is of, as a small file in
`LAKE/gold/_halts/<source>`. A run of gold that comes over it ends a batch there, publishes the cut,
and goes on; so there is a cut of that very state whatever is written meanwhile. A file whose place
gold has passed is of no use any more, nor is one that nobody has come to within a day.
"""

from __future__ import annotations

import json
import time
import uuid
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass

from pyspark.sql import SparkSession

from pipeline import stores
from pipeline.errors import SettingsError
from pipeline.gold.until import last_wanted
from pipeline.lake import Lake
from pipeline.settings import Settings

PATIENCE = 24 * 60 * 60
"""Seconds after which nobody waits for a place any more."""


@dataclass(frozen=True, slots=True)
class Halt:
    """A place: a file of the server's log and a position in it, and when it was asked for."""

    path: str
    file: str
    position: int
    asked: float

    @property
    def until(self) -> str:
        """The place as `until` has it."""
        return f"{self.file}:{self.position}"


@contextmanager
def halt(lake: Lake, source: str, file: str, position: int) -> Iterator[None]:
    """Ask for a cut at a place, for as long as the block takes."""
    path = f"{lake.halts(source)}/{uuid.uuid4().hex}.json"
    told = {"file": file, "position": position, "asked": time.time()}
    stores.write(path, json.dumps(told).encode())
    try:
        yield
    finally:
        stores.remove(path)


def next_halt(spark: SparkSession, settings: Settings, low: int, high: int) -> int:
    """The LSN of the last transaction before the first place behind `low`; `high` if there is none.

    `low` is where gold is, `high` where the run would bring it. A place that the lake has not got
    to yet is passed over; the file of one that is behind gold, or out of date, is removed.
    """
    if low >= high:
        return high  # nothing would tell a place that is reached from one that is to come
    found = high
    for one in _asked(settings.layout, settings.source):
        lsn = None if one.asked + PATIENCE < time.time() else _lsn(spark, settings, one, low, high)
        if lsn is None or lsn <= low:
            stores.remove(one.path)
        else:
            found = min(found, lsn)
    return found


def _lsn(spark: SparkSession, settings: Settings, one: Halt, low: int, high: int) -> int | None:
    """The last transaction before the place; None for one that no log can have."""
    wanted = settings.model_copy(update={"until": one.until})
    try:
        return last_wanted(spark, wanted, low, high)
    except SettingsError:
        return high  # the file of the log is not in the lake yet
    except ValueError:
        return None


def _asked(lake: Lake, source: str) -> Iterator[Halt]:
    folder = lake.halts(source)
    for name in stores.names_in(folder):
        path = f"{folder}/{name}"
        # None where whoever asked has gone meanwhile.
        text = stores.content(path) if name.endswith(".json") else None
        if text is not None and (found := _read(path, text)):
            yield found


def _read(path: str, text: bytes) -> Halt | None:
    """What a file asks for; None for one that cannot be read, after a power cut or of another
    release: for the sake of a comparison nothing stops."""
    try:
        told = json.loads(text)
        return Halt(path, str(told["file"]), int(told["position"]), float(told["asked"]))
    except (ValueError, KeyError, TypeError):
        return None
