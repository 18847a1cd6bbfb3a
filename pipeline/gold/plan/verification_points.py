"""Verification points: log positions at which gold publishes a cut for a comparison with a server.

Whoever has a snapshot of a server requests its position, as a small JSON file in
`LAKE/gold/_halts/<source>`: a position in the log, or the GTID set that the server had executed (of
which only the transactions that the lake has count). A gold run that reaches it ends a batch there,
publishes the cut and continues; so that exact state is published, whatever is written meanwhile.
Files for positions that gold has passed, and those not reached within a day, are removed.
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
"""Seconds after which a request is considered abandoned."""


@dataclass(frozen=True, slots=True)
class AtPosition:
    """The state after all transactions before a position in a log file."""

    file: str
    position: int

    def to_json(self) -> dict[str, str | int]:
        """Return the position as JSON fields."""
        return {"file": self.file, "position": self.position}

    def last(self, spark: Spark, settings: Settings, low: int, high: int) -> int:
        """Return the LSN of the last transaction before it, as `last_wanted` does."""
        wanted = settings.model_copy(update={"until": f"{self.file}:{self.position}"})
        return last_wanted(spark, wanted, low, high)


@dataclass(frozen=True, slots=True)
class WithGtids:
    """The state after all transactions of a GTID set and before all others."""

    gtid_set: str

    def to_json(self) -> dict[str, str]:
        """Return the set as a JSON field."""
        return {"gtid_set": self.gtid_set}

    def last(self, spark: Spark, settings: Settings, low: int, high: int) -> int:
        """Return the LSN of the last transaction before the first one outside the set."""
        return last_of(spark, settings, GtidSet.of(self.gtid_set), low, high)


Wanted = AtPosition | WithGtids


@dataclass(frozen=True, slots=True)
class RequestedPoint:
    """A verification point requested in the file `path` at `asked` (seconds since 1970)."""

    path: str
    asked: float
    wanted: Wanted


@contextmanager
def halt(lake: Lake, source: str, wanted: Wanted) -> Iterator[None]:
    """Request a cut at a position for the duration of the block."""
    path = f"{lake.halts(source)}/{uuid.uuid4().hex}.json"
    request = {**wanted.to_json(), "asked": time.time()}
    stores.write(path, json.dumps(request).encode())
    try:
        yield
    finally:
        stores.remove(path)


def next_verification_point(spark: Spark, settings: Settings, low: int, high: int) -> int:
    """Return the LSN of the last transaction before the first verification point after `low`.

    `low` is gold's LSN, `high` the one that the run would reach, returned if there is no
    verification point. Positions not in the lake yet are skipped; files for positions that gold has
    passed, and expired files, are removed.
    """
    if low >= high:
        return high  # a position that was reached cannot be distinguished from a future one
    found = high
    for one in _asked(settings.layout, settings.source):
        lsn = None if one.asked + PATIENCE < time.time() else _lsn(spark, settings, one, low, high)
        if lsn is None or lsn <= low:
            stores.remove(one.path)
        else:
            found = min(found, lsn)
    return found


def _lsn(spark: Spark, settings: Settings, one: RequestedPoint, low: int, high: int) -> int | None:
    """Return the last transaction before the position; None if no log can contain it."""
    try:
        return one.wanted.last(spark, settings, low, high)
    except SettingsError:
        return high  # the file of the log is not in the lake yet
    except ValueError:
        return None


def _asked(lake: Lake, source: str) -> Iterator[RequestedPoint]:
    folder = lake.halts(source)
    for name in stores.names_in(folder):
        path = f"{folder}/{name}"
        # None if whoever requested it has removed it meanwhile.
        text = stores.content(path) if name.endswith(".json") else None
        if text is not None and (found := _read(path, text)):
            yield found


def _read(path: str, text: bytes) -> RequestedPoint | None:
    """Read a request; None if it is malformed, since a comparison must not stop gold."""
    try:
        request = json.loads(text)
        if "gtid_set" in request:
            return RequestedPoint(
                path, float(request["asked"]), WithGtids(str(request["gtid_set"]))
            )
        place = AtPosition(str(request["file"]), int(request["position"]))
        return RequestedPoint(path, float(request["asked"]), place)
    except (ValueError, KeyError, TypeError):
        return None
