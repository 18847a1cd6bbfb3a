"""One run at a time on a lake in S3, where Delta's own log store does not tell two writers apart.

A run holds an object in the lake: it makes it where there is none, and writes it anew every few
seconds, each time only over what it wrote last (S3's conditional writes). Who finds it there
watches it. If it changes, that run lives, and this one is refused; if it does not for long enough,
that run is dead, and this one takes the object over. No clocks are compared, and a killed run costs
the next one only the watching.

A run whose writes do not arrive for half of that time commits nothing more
(`pipeline.lake.locks.lease_guard`), so that it has stopped before another one can have taken it for
dead.
"""

from __future__ import annotations

import json
import os
import re
import socket
import threading
import time
import uuid
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from typing import Any

from pipeline.errors import BinlakeError, ConcurrentRunError, SettingsError, UnreachableError
from pipeline.lake.locks.lease_guard import ONE_AT_A_TIME, Hold, asked_before_commits
from pipeline.lake.stores import filesystem_of, said_by

RENEWED_EVERY = 10.0
"""Seconds between two writes of who holds the lake."""
DEAD_AFTER = 60.0
"""Seconds without a write after which a run is taken for dead."""
_ON_S3 = re.compile(r"(?P<scheme>s3|s3a|s3n)://(?P<place>.+)", re.IGNORECASE | re.DOTALL)
_FOR_ONE_WRITER = "S3SingleDriverLogStore"
"""Delta's own log store, by whatever package it is called."""
_TRIES = 10
"""How often entering begins anew because the object comes and goes."""
_NO_MARK = '"00000000000000000000000000000000"'
_REMEDY = (
    "Check the path, the store's endpoint and the credentials (spark.conf or environment). The"
    " store must know conditional writes (If-None-Match and If-Match), or spark.conf name the log"
    " store by which several runs are kept apart (spark.delta.logStore.s3a.impl, or another's)."
)


@contextmanager
def only_writer(
    lake: str,
    conf: Mapping[str, str],
    *,
    renewed_every: float = RENEWED_EVERY,
    dead_after: float = DEAD_AFTER,
) -> Iterator[None]:
    """Hold a lake in S3 alone; other stores, and other log stores, need no holding.

    Raises ConcurrentRunError where another run holds it, also at the end if one has taken it over
    (this process stood still for long); UnreachableError where the store does not let it be held,
    SettingsError where it heeds no conditions.
    """
    place = _to_be_held(lake, conf)
    if place is None:
        yield
        return
    hold = Hold(lake, dead_after / 2)
    lease = _Lease(hold, *filesystem_of(f"s3://{place.rstrip('/')}/ledger/_run", key="lake"))
    try:
        lease.take(dead_after)
    except BinlakeError:
        raise
    except Exception as error:  # each store's client has errors of its own
        raise UnreachableError(
            f"{lake} cannot be held by this run alone: {said_by(error)}.",
            key="lake",
            remedy=_REMEDY,
        ) from error
    ended = threading.Event()
    renewing = threading.Thread(target=lease.renew_until, args=(ended, renewed_every), daemon=True)
    renewing.start()
    try:
        with asked_before_commits(hold):
            yield
    finally:
        ended.set()
        renewing.join()
        with suppress(Exception):  # else the next run finds out that this one is gone
            lease.leave()
    if hold.lost:
        hold.require()


def _to_be_held(lake: str, conf: Mapping[str, str]) -> str | None:
    """The bucket and path of a lake that Delta's own log store writes; None for others."""
    found = _ON_S3.fullmatch(lake)
    if found is None:
        return None
    store = conf.get(f"spark.delta.logStore.{found['scheme'].lower()}.impl", _FOR_ONE_WRITER)
    return found["place"] if store.strip().endswith(_FOR_ONE_WRITER) else None


class _Lease:
    """The object, and the mark that the store gave this run's last write of it."""

    def __init__(self, hold: Hold, files: Any, path: str) -> None:
        self._hold = hold
        self._files = files
        self._path = path
        self._run = uuid.uuid4().hex
        self._mark = ""

    def take(self, dead_after: float) -> None:
        """Make the object, or take over that of a run which is dead."""
        for _ in range(_TRIES):
            if self._write(mode="create"):
                break
            found = self._found()
            if found is None or not self._stays(found["ETag"], dead_after):
                continue  # whoever held it has left
            if self._write(IfMatch=found["ETag"]):
                break
        else:
            raise self._refusal("runs that come and go")
        self._require_conditions()

    def renew_until(self, ended: threading.Event, every: float) -> None:
        """Write it anew until `ended`; what fails now may be done the next time, whatever it is."""
        while not ended.wait(every) and not self._hold.lost:
            with suppress(Exception):
                self._hold.lost = not self._write(IfMatch=self._mark)

    def leave(self) -> None:
        """Remove the object, if it is still this run's; else this run has lost it."""
        found = self._found()
        if found is not None and (found["ETag"] == self._mark or self._is_own(found)):
            self._files.rm_file(self._path)
        else:
            self._hold.lost = True

    def _stays(self, mark: str, seconds: float) -> bool:
        """Whether the object does not change for so long; watched until it is gone.

        Raises ConcurrentRunError as soon as it changes.
        """
        end = time.monotonic() + seconds
        while time.monotonic() < end:
            time.sleep(seconds / 30)
            found = self._found()
            if found is None:
                return False
            if found["ETag"] != mark:
                raise self._refusal(self._holder())
        return True

    def _refusal(self, holder: str) -> ConcurrentRunError:
        return ConcurrentRunError(
            f"another run is writing {self._hold.lake}: {holder}.", remedy=ONE_AT_A_TIME
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
        """What the object says; nothing where it is gone, or somebody else's."""
        try:
            content = json.loads(self._files.cat_file(self._path))
        except (FileNotFoundError, ValueError):
            return {}
        return content if isinstance(content, dict) else {}

    def _is_own(self, found: Any) -> bool:
        """Whether the object that was found is this run's: a write's reply may be lost."""
        own = self._content().get("run") == self._run
        return own and (self._found() or {}).get("ETag") == found["ETag"]

    def _write(self, **condition: str) -> bool:
        """Put the object under a condition; whether that held, or the object is this run's."""
        try:
            self._put(**condition)
        except Exception as error:
            found = self._found()
            if found is None:
                # Somebody removed it: no condition on what it was can hold.
                if "IfMatch" in condition or isinstance(error, FileExistsError):
                    return False
                raise
            if found["ETag"] == condition.get("IfMatch"):
                raise  # the condition holds, so it is something else
            if not self._is_own(found):
                return False  # whatever the store's own words for it are
            self._put(IfMatch=found["ETag"])
        return True

    def _put(self, **condition: str) -> None:
        holder = {"host": socket.gethostname(), "process": os.getpid(), "run": self._run}
        content = json.dumps({**holder, "write": uuid.uuid4().hex}).encode()
        asked = time.monotonic()
        self._mark = self._files.pipe_file(self._path, content, **condition)["ETag"]
        self._hold.confirmed = asked

    def _require_conditions(self) -> None:
        """SettingsError where the store puts an object whatever the condition is: then it would
        let everyone in."""
        for condition in ({"mode": "create"}, {"IfMatch": _NO_MARK}):
            try:
                self._put(**condition)
            except OSError:
                continue
            self._files.rm_file(self._path)
            raise SettingsError(
                f"{self._hold.lake} cannot be held by this run alone: its store does not heed"
                " conditional writes.",
                key="lake",
                remedy=_REMEDY,
            )
