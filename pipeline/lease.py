"""One run at a time on a lake in S3, where Delta's own log store does not tell two writers apart.

A run holds an object in the lake: it makes it where there is none, and writes it anew every few
seconds, each time only over what it wrote last (S3's conditional writes). Who finds it there
watches it. If it changes, that run lives, and this one is refused; if it does not for long enough,
that run is dead, and this one takes the object over. No clocks are compared, and a killed run costs
the next one only the watching.
"""

from __future__ import annotations

import json
import os
import socket
import threading
import time
import uuid
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from typing import Any

from pipeline.errors import ConcurrentRunError, SettingsError
from pipeline.stores import filesystem_of, said_by

RENEWED_EVERY = 10.0
"""Seconds between two writes of who holds the lake."""
DEAD_AFTER = 60.0
"""Seconds without a write after which a run is taken for dead."""
OWN_STORE = "spark.delta.logStore.s3a.impl"
"""Who sets this has a log store for several writers, or sees to it that there is one."""
_REMEDY = "Run again when it is done; a scheduler should run one at a time."


@contextmanager
def only_writer(
    lake: str,
    conf: Mapping[str, str],
    *,
    renewed_every: float = RENEWED_EVERY,
    dead_after: float = DEAD_AFTER,
) -> Iterator[Callable[[], None]]:
    """Hold a lake in S3 alone; other stores, and other log stores, need no holding.

    Raises ConcurrentRunError where another run holds it, also at the end if one has taken it over
    (this process stood still for long). What is given raises the same as soon as that is so.
    """
    if not lake.startswith("s3a://") or OWN_STORE in conf:
        yield lambda: None
        return
    lease = _Lease(lake)
    try:
        lease.take(dead_after)
    except OSError as error:
        raise SettingsError(
            f"{lake} cannot be held by this run alone: {said_by(error)}.",
            key="lake",
            remedy="The store must know conditional writes, or spark.conf name the log store"
            f" ({OWN_STORE}) by which several runs are kept apart.",
        ) from error
    ended = threading.Event()
    renewing = threading.Thread(target=lease.renew_until, args=(ended, renewed_every), daemon=True)
    renewing.start()
    try:
        yield lease.require
    finally:
        ended.set()
        renewing.join()
        with suppress(OSError):  # else the next run finds out that this one is gone
            lease.leave()
    lease.require_not_lost()


class _Lease:
    """The object, and the mark that the store gave this run's last write of it."""

    def __init__(self, lake: str) -> None:
        self._lake = lake
        self._files, self._path = filesystem_of(f"{lake.rstrip('/')}/ledger/_run", key="lake")
        self._run = uuid.uuid4().hex
        self._mark = ""
        self._looking = threading.Lock()
        self._lost = False

    def take(self, dead_after: float) -> None:
        """Make the object, or take over that of a run which is dead."""
        while not self._write(mode="create"):
            found = self._found()
            if found is not None and self._stays(found["ETag"], dead_after):
                if self._write(IfMatch=found["ETag"]):
                    return
            elif found is not None:
                raise ConcurrentRunError(
                    f"another run is writing {self._lake}: {self._holder()}.", remedy=_REMEDY
                )

    def renew_until(self, ended: threading.Event, every: float) -> None:
        """Write it anew until `ended`; what a store fails to do now it may do the next time."""
        while not ended.wait(every) and not self._lost:
            with suppress(OSError), self._looking:
                self._look()
                if not self._lost:
                    self._write(IfMatch=self._mark)

    def require(self) -> None:
        """Raise ConcurrentRunError if another run has it by now, as far as the store tells."""
        with suppress(OSError), self._looking:
            self._look()
        self.require_not_lost()

    def require_not_lost(self) -> None:
        """Raise ConcurrentRunError if it is known that another run has it."""
        if self._lost:
            raise ConcurrentRunError(
                f"another run took {self._lake} over while this one stood still.", remedy=_REMEDY
            )

    def _look(self) -> None:
        found = self._found()
        self._lost = found is None or found["ETag"] != self._mark

    def leave(self) -> None:
        """Remove the object, if it is still this run's."""
        found = self._found()
        if found is not None and found["ETag"] == self._mark:
            self._files.rm_file(self._path)

    def _stays(self, mark: str, seconds: float) -> bool:
        """Whether the object does not change for so long; watched until it does."""
        end = time.monotonic() + seconds
        while time.monotonic() < end:
            time.sleep(seconds / 30)
            found = self._found()
            if found is None or found["ETag"] != mark:
                return found is None
        return True

    def _found(self) -> Any:
        self._files.invalidate_cache()
        try:
            return self._files.info(self._path)
        except FileNotFoundError:
            return None

    def _holder(self) -> str:
        try:
            holder = json.loads(self._files.cat_file(self._path))
        except FileNotFoundError:
            return "it has ended just now"
        return f"process {holder['process']} on {holder['host']}"

    def _write(self, **condition: str) -> bool:
        """Put the object under a condition; whether that held."""
        holder = {"host": socket.gethostname(), "process": os.getpid(), "run": self._run}
        content = json.dumps({**holder, "write": uuid.uuid4().hex}).encode()
        try:
            self._mark = self._files.pipe_file(self._path, content, **condition)["ETag"]
        except FileExistsError:
            return False
        except OSError:
            found = self._found()
            if found is not None and found["ETag"] != condition.get("IfMatch"):
                return False  # the store says in its own words that the condition did not hold
            raise
        return True
