"""Verification points: log positions at which gold publishes a snapshot to compare with a server.

A comparison that has read a snapshot of a server requests the snapshot's position in a small JSON
file in `LAKE/gold/_verification_points/<source>`: a position in the log, or the GTID set that the
server had executed (only transactions in the lake count). A gold run ends a batch there, publishes
the snapshot and continues, so this exact state is published, whatever is written meanwhile. Files
for positions that gold has passed, and those not reached within a day, are removed.
"""

from __future__ import annotations

import json
import time
import uuid
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from typing import TypeAlias

from pydantic import TypeAdapter

from pipeline.errors import SettingsError
from pipeline.gold.plan.until import last_of, last_wanted
from pipeline.lake import Lake, stores
from pipeline.layer import LayerRun
from pipeline.source import GtidSet

PATIENCE = 24 * 60 * 60
"""Seconds after which a request is considered abandoned."""


@dataclass(frozen=True, slots=True)
class AtPosition:
    """The state after all transactions before a position in a log file."""

    file: str
    position: int

    def last(self, run: LayerRun, low: int, high: int) -> int:
        """Return the LSN of the last transaction before it, as `last_wanted` does."""
        return last_wanted(run, f"{self.file}:{self.position}", low, high)


@dataclass(frozen=True, slots=True)
class WithGtids:
    """The state after all transactions of a GTID set and before all others."""

    gtid_set: str

    def last(self, run: LayerRun, low: int, high: int) -> int:
        """Return the LSN of the last transaction before the first one outside the set."""
        return last_of(run, GtidSet.of(self.gtid_set), low, high)


VerificationPoint: TypeAlias = AtPosition | WithGtids
_WANTED: TypeAdapter[VerificationPoint] = TypeAdapter(VerificationPoint)


@contextmanager
def requested_point(lake: Lake, source: str, wanted: VerificationPoint) -> Iterator[None]:
    """Request a verification point for the duration of the block."""
    path = f"{lake.verification_points(source)}/{uuid.uuid4().hex}.json"
    request = {**asdict(wanted), "requested_at": time.time()}
    stores.write(path, json.dumps(request).encode())
    try:
        yield
    finally:
        stores.remove(path)


def next_verification_point(run: LayerRun, low: int, high: int) -> int:
    """Return the LSN of the last transaction before the first verification point after `low`.

    `low` is gold's LSN, `high` the one that the run would reach, returned if there is no
    verification point. Positions not in the lake yet are skipped; files for positions that gold has
    passed, and expired files, are removed.
    """
    if low >= high:
        return high  # a position that was reached cannot be distinguished from a future one
    found = high
    folder = run.lake.verification_points(run.source)
    for name in stores.names_in(folder):
        path = f"{folder}/{name}"
        # None if the comparison has removed it meanwhile.
        text = stores.content(path) if name.endswith(".json") else None
        if text is None or (request := _read(text)) is None:
            continue
        wanted, requested_at = request
        lsn = None if requested_at + PATIENCE < time.time() else _lsn(run, wanted, low, high)
        if lsn is None or lsn <= low:
            stores.remove(path)
        else:
            found = min(found, lsn)
    return found


def _lsn(run: LayerRun, wanted: VerificationPoint, low: int, high: int) -> int | None:
    """Return the last transaction before the position; None if no log can contain it."""
    try:
        return wanted.last(run, low, high)
    except SettingsError:
        return high  # the file of the log is not in the lake yet
    except ValueError:
        return None


def _read(text: bytes) -> tuple[VerificationPoint, float] | None:
    """Read a request and its time in seconds since 1970.

    None if it is malformed, since a comparison must not stop gold.
    """
    try:
        request = json.loads(text)
        return _WANTED.validate_python(request), float(request["requested_at"])
    except (ValueError, KeyError, TypeError):
        return None
