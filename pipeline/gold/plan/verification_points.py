"""Places in the log at which gold publishes a cut on its way, for who wants to compare it there.

Whoever has a snapshot of a server asks for the place that it is of, as a small file in
`LAKE/gold/_halts/<source>`: a position in the log that the lake takes, or the GTIDs that a server
had executed, whichever of those that have the lake's transactions. A run of gold that comes over
it ends a batch there, publishes the cut, and goes on; so there is a cut of that very state whatever
is written meanwhile. A file whose place gold has passed is of no use any more, nor is one that
nobody has come to within a day.
"""

from __future__ import annotations

import json
import time
import uuid
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass

from pipeline.errors import SettingsError
from pipeline.gold.plan.until import last_of, last_wanted
from pipeline.lake import Lake, stores
from pipeline.lake.starting import Spark
from pipeline.settings import Settings
from pipeline.source import GtidSet

PATIENCE = 24 * 60 * 60
"""Seconds after which nobody waits for a place any more."""


@dataclass(frozen=True, slots=True)
class AtPosition:
    """Behind all transactions before a position in a file of the log."""

    file: str
    position: int

    def told(self) -> dict[str, str | int]:
        """As JSON has it."""
        return {"file": self.file, "position": self.position}

    def last(self, spark: Spark, settings: Settings, low: int, high: int) -> int:
        """The last transaction before it, as `last_wanted` tells it."""
        wanted = settings.model_copy(update={"until": f"{self.file}:{self.position}"})
        return last_wanted(spark, wanted, low, high)


@dataclass(frozen=True, slots=True)
class WithGtids:
    """Behind all transactions of a set of GTIDs, and before all others."""

    gtid_set: str

    def told(self) -> dict[str, str]:
        """As JSON has it."""
        return {"gtid_set": self.gtid_set}

    def last(self, spark: Spark, settings: Settings, low: int, high: int) -> int:
        """The last transaction before the first one that is not in the set."""
        return last_of(spark, settings, GtidSet.of(self.gtid_set), low, high)


Wanted = AtPosition | WithGtids


@dataclass(frozen=True, slots=True)
class Halt:
    """A place that is asked for in the file `path`, and when that was (seconds since 1970)."""

    path: str
    asked: float
    wanted: Wanted


@contextmanager
def halt(lake: Lake, source: str, wanted: Wanted) -> Iterator[None]:
    """Ask for a cut at a place, for as long as the block takes."""
    path = f"{lake.halts(source)}/{uuid.uuid4().hex}.json"
    told = {**wanted.told(), "asked": time.time()}
    stores.write(path, json.dumps(told).encode())
    try:
        yield
    finally:
        stores.remove(path)


def next_halt(spark: Spark, settings: Settings, low: int, high: int) -> int:
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


def _lsn(spark: Spark, settings: Settings, one: Halt, low: int, high: int) -> int | None:
    """The last transaction before the place; None for one that no log can have."""
    try:
        return one.wanted.last(spark, settings, low, high)
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
        if "gtid_set" in told:
            return Halt(path, float(told["asked"]), WithGtids(str(told["gtid_set"])))
        place = AtPosition(str(told["file"]), int(told["position"]))
        return Halt(path, float(told["asked"]), place)
    except (ValueError, KeyError, TypeError):
        return None
