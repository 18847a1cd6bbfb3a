"""A lease on a lake in S3, where Delta's default log store does not detect concurrent writers.

A run holds the lease by an object in the lake: it creates it, and rewrites it every few seconds,
on the condition that the object is still the one it wrote last (S3's conditional writes). A run
that finds the object watches it. If the object changes, its owner is alive, and this run is
refused. If it does not change for long enough, the owner is dead, and this run takes the lease
over. No clocks are compared, and a killed run costs the next one only the time to watch.

A run that could not renew its lease for half of that time stops committing (`require_held`), before
any other run can consider it dead.
"""

from __future__ import annotations

import json
import os
import re
import socket
import time
import uuid
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from typing import Any

from pipeline.errors import (
    BinlakeError,
    ConcurrentRunError,
    LakeLostError,
    SettingsError,
    UnreachableError,
)
from pipeline.lake.locks.lock import local_path
from pipeline.lake.stores import error_text, filesystem_of
from pipeline.observe.current_run import repeating

RENEWED_EVERY = 10.0
"""Seconds between two renewals of the lease."""
DEAD_AFTER = 60.0
"""Seconds without a renewal after which a run is considered dead."""
_ON_S3 = re.compile(r"(?P<scheme>s3|s3a|s3n)://(?P<place>.+)", re.IGNORECASE | re.DOTALL)
_FOR_ONE_WRITER = "S3SingleDriverLogStore"
"""The class name of Delta's default log store for S3, in any package."""
_TRIES = 10
"""Attempts to get the lease while the object appears and disappears."""
_NO_ETAG = '"00000000000000000000000000000000"'
_REMEDY = (
    "Check the path, the store's endpoint and the credentials (spark.conf or environment). The"
    " store must support conditional writes (If-None-Match and If-Match); otherwise set"
    " spark.delta.logStore.s3a.impl (or another scheme's) in spark.conf to a log store for several"
    " writers."
)
_ONE_AT_A_TIME = "Run again when it has finished; let the scheduler start one run at a time."


@dataclass(eq=False, slots=True)
class LeaseState:
    """The state of a lease.

    `confirmed`: when the store last accepted a renewal (`time.monotonic`); `seconds` after it,
    another run may be about to take the lease over.
    """

    lake: str
    seconds: float
    confirmed: float = 0.0
    lost: bool = False

    def require(self) -> None:
        """Raise LakeLostError unless the lease is certainly still held."""
        if self.lost:
            raise LakeLostError(
                f"This run lost the lease of {self.lake}: it was suspended or the store was"
                " unreachable for too long, and another run took it, or its object was removed."
                " What was committed stays; this run commits nothing more.",
                remedy=_ONE_AT_A_TIME,
            )
        age = time.monotonic() - self.confirmed
        if age > self.seconds:
            raise LakeLostError(
                f"for {age:.0f} seconds the store has not confirmed this run's lease of"
                f" {self.lake}.",
                remedy="Run again when the store can be reached.",
            )


_HOLDS: list[LeaseState] = []


@contextmanager
def checked_before_commits(hold: LeaseState) -> Iterator[None]:
    """Check the lease before every commit of this process until the end of the block."""
    _HOLDS.append(hold)
    try:
        yield
    finally:
        _HOLDS.remove(hold)


def require_held(table: str) -> None:
    """Raise LakeLostError if this process held the lease of the table's lake, and may have lost it.

    The lake of a name in a catalog is unknown: then all leases are checked.
    """
    if local_path(table) is not None:
        return
    for hold in list(_HOLDS):
        if "://" not in table or table.startswith(hold.lake.rstrip("/") + "/"):
            hold.require()


@contextmanager
def only_writer(
    lake: str,
    conf: Mapping[str, str],
    *,
    renewed_every: float = RENEWED_EVERY,
    dead_after: float = DEAD_AFTER,
) -> Iterator[None]:
    """Hold the lease of a lake in S3; a no-op for other stores and for other log stores.

    Raises ConcurrentRunError if another run holds the lease, or, at the end, if one has taken it
    over (this process was suspended for long); UnreachableError if the lease's object cannot be
    written, SettingsError if the store ignores the conditions of writes.
    """
    place = _to_be_held(lake, conf)
    if place is None:
        yield
        return
    hold = LeaseState(lake, dead_after / 2)
    lease = _Lease(hold, *filesystem_of(f"s3://{place.rstrip('/')}/ledger/_run", key="lake"))
    try:
        lease.take(dead_after)
    except BinlakeError:
        raise
    except Exception as error:  # each store's client has errors of its own
        raise UnreachableError(
            f"cannot get the lease of {lake}: {error_text(error)}.",
            key="lake",
            remedy=_REMEDY,
        ) from error
    try:
        with repeating(lease.renew, renewed_every), checked_before_commits(hold):
            yield
    finally:
        with suppress(Exception):  # the next run then finds out that this one is dead
            lease.leave()
    if hold.lost:
        hold.require()


def _to_be_held(lake: str, conf: Mapping[str, str]) -> str | None:
    """Return bucket and path of a lake that Delta's default log store writes; None for others."""
    found = _ON_S3.fullmatch(lake)
    if found is None:
        return None
    store = conf.get(f"spark.delta.logStore.{found['scheme'].lower()}.impl", _FOR_ONE_WRITER)
    return found["place"] if store.strip().endswith(_FOR_ONE_WRITER) else None


class _Lease:
    """The lease's object, and the ETag of this run's last write of it."""

    def __init__(self, hold: LeaseState, files: Any, path: str) -> None:
        self._hold = hold
        self._files = files
        self._path = path
        self._run = uuid.uuid4().hex
        self._etag = ""

    def take(self, dead_after: float) -> None:
        """Create the object, or take over the object of a dead run."""
        for _ in range(_TRIES):
            if self._write(mode="create"):
                break
            found = self._found()
            if found is None or not self._stays(found["ETag"], dead_after):
                continue  # its owner has released it
            if self._write(IfMatch=found["ETag"]):
                break
        else:
            raise ConcurrentRunError(
                f"The lease of {self._hold.lake} changed hands {_TRIES} times while this run tried"
                " to get it: several runs are starting and ending.",
                remedy="Let the scheduler start one run at a time.",
            )
        self._require_conditions()

    def renew(self) -> None:
        """Renew the lease unless it is lost; after any error, try again the next time."""
        if not self._hold.lost:
            with suppress(Exception):
                self._hold.lost = not self._write(IfMatch=self._etag)

    def leave(self) -> None:
        """Remove the object if it is still this run's; otherwise the lease is lost."""
        found = self._found()
        if found is not None and (found["ETag"] == self._etag or self._is_own(found)):
            self._files.rm_file(self._path)
        else:
            self._hold.lost = True

    def _stays(self, etag: str, seconds: float) -> bool:
        """Return True if the object does not change for `seconds`, False once it is removed.

        Raises ConcurrentRunError as soon as it changes.
        """
        end = time.monotonic() + seconds
        while time.monotonic() < end:
            time.sleep(seconds / 30)
            found = self._found()
            if found is None:
                return False
            if found["ETag"] != etag:
                raise self._refusal(self._holder())
        return True

    def _refusal(self, holder: str) -> ConcurrentRunError:
        return ConcurrentRunError(
            f"another run is writing {self._hold.lake}: {holder}.", remedy=_ONE_AT_A_TIME
        )

    def _holder(self) -> str:
        held = self._content()
        return f"process {held.get('process', 'unknown')} on {held.get('host', 'unknown')}"

    def _found(self) -> Any:
        self._files.invalidate_cache()
        try:
            return self._files.info(self._path)
        except FileNotFoundError:
            return None

    def _content(self) -> Mapping[str, Any]:
        """Return the object's JSON; empty if it is gone or was not written by Binlake."""
        try:
            content = json.loads(self._files.cat_file(self._path))
        except (FileNotFoundError, ValueError):
            return {}
        return content if isinstance(content, dict) else {}

    def _is_own(self, found: Any) -> bool:
        """Return True if this run wrote the object: the reply to a write may have been lost."""
        own = self._content().get("run") == self._run
        return own and (self._found() or {}).get("ETag") == found["ETag"]

    def _write(self, **condition: str) -> bool:
        """Put the object on a condition; return True if it held or the object is this run's."""
        try:
            self._put(**condition)
        except Exception as error:
            found = self._found()
            if found is None:
                # It was removed meanwhile, so no condition on its ETag can hold.
                if "IfMatch" in condition or isinstance(error, FileExistsError):
                    return False
                raise
            if found["ETag"] == condition.get("IfMatch"):
                raise  # the condition holds, so the error has another cause
            if not self._is_own(found):
                return False  # whatever error the store reports for it
            self._put(IfMatch=found["ETag"])
        return True

    def _put(self, **condition: str) -> None:
        holder = {"host": socket.gethostname(), "process": os.getpid(), "run": self._run}
        content = json.dumps({**holder, "write": uuid.uuid4().hex}).encode()
        asked = time.monotonic()
        self._etag = self._files.pipe_file(self._path, content, **condition)["ETag"]
        self._hold.confirmed = asked

    def _require_conditions(self) -> None:
        """Raise SettingsError if the store ignores conditions: every run would get the lease."""
        for condition in ({"mode": "create"}, {"IfMatch": _NO_ETAG}):
            try:
                self._put(**condition)
            except OSError:
                continue
            self._files.rm_file(self._path)
            raise SettingsError(
                f"cannot get the lease of {self._hold.lake}: its store does not honor conditional"
                " writes.",
                key="lake",
                remedy=_REMEDY,
            )
