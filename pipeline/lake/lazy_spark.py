"""Lazy start of Spark: a `Spark` is a session, or one that starts when it is first needed.

Bronze, silver, the ledger and all lookups work without Spark if delta-rs can access the lake, and
Java takes seconds to start. So they pass on a `Spark`, and only code that uses DataFrames gets the
session, with `started`.
"""

from __future__ import annotations

import atexit
import threading
from collections.abc import Callable
from concurrent.futures import Future
from contextlib import nullcontext
from contextvars import copy_context
from typing import TYPE_CHECKING, TypeAlias

from pyspark.sql import SparkSession

from pipeline.observe.interruption import end_java

if TYPE_CHECKING:
    from pipeline.observe import Progress

LITTLE = 256 << 20
"""Bytes of log up to which Java's optimizing compiler costs more than it saves: without it, files
to gold took a fifth less time at 1 MB, a tenth less at 241 MB (docs/contributing/benchmarks.md)."""


FEW_BYTES = 4 << 20
"""Bytes of log, where they may be compressed, up to which changes are few: gold may apply them
without Spark."""


class SparkNeededError(Exception):
    """Work needs Spark, which is not to be started for it; see `unstarted`."""


class StartingSpark:
    """A session that `start` starts on first use; `master`: where its tasks run. Thread-safe.

    `beside`: the command will need it later if there is something new: see `start_early`.
    `progress` shows that the command waits for it. `running`: the session, once it was needed.
    `little`: True if there is known to be little to do. `lasting`: the process has more work after
    this.
    """

    def __init__(
        self,
        start: Callable[[], SparkSession],
        master: str,
        *,
        beside: bool = False,
        lasting: bool = False,
        progress: Progress | None = None,
    ) -> None:
        self.master = master
        self._lasting = lasting
        self._progress = progress
        self._start = start
        self.little = False
        self._beside = beside
        self._starting: Future[SparkSession] | None = None
        self.running: SparkSession | None = None
        self._lock = threading.Lock()

    def start_early(self, size: int | None, *, needed: bool) -> None:
        """Start the session in a background thread, if the command will need it.

        `size`: the bytes of log that are new, None if unknown; `needed`: False if gold may apply
        them without Spark. A command that fails meanwhile does not wait for it: its Java process is
        killed when the program ends.
        """
        with self._lock:
            if self._beside and self._starting is None and self.running is None:
                small = size is not None and size <= LITTLE
                self.little = small and not self._lasting
                if not needed:
                    return
                self._starting = Future()
                atexit.register(_abandon, self._starting)
                # In this context: its log lines are of the run under way.
                arguments = (_fulfil, self._starting, self._start)
                threading.Thread(
                    target=copy_context().run, args=arguments, name="starting-spark", daemon=True
                ).start()

    def session(self) -> SparkSession:
        """Return the session; start it, or wait for its start, if necessary.

        Raises the errors of `start`.
        """
        with self._lock:
            if self.running is None:
                # In the thread that waits: an interrupt ends it, and the display with it.
                waiting = self._progress and self._progress.task("Starting Spark …")
                try:
                    with waiting or nullcontext():
                        self.running = self._starting.result() if self._starting else self._start()
                except Exception:
                    self._starting = None  # the next call tries again
                    raise
            return self.running


def unstarted(master: str) -> StartingSpark:
    """Return a `Spark` that raises SparkNeededError instead of starting."""

    def refuse() -> SparkSession:
        raise SparkNeededError

    return StartingSpark(refuse, master)


def _fulfil(starting: Future[SparkSession], start: Callable[[], SparkSession]) -> None:
    try:
        starting.set_result(start())
    except BaseException as error:
        starting.set_exception(error)


def _abandon(starting: Future[SparkSession]) -> None:
    if not starting.done():
        end_java(gently=True)


Spark: TypeAlias = SparkSession | StartingSpark
"""For code that may not need a session at all."""


def started(spark: Spark) -> SparkSession:
    """Return the session, starting Spark if necessary."""
    return spark.session() if isinstance(spark, StartingSpark) else spark


def running(spark: Spark) -> SparkSession | None:
    """Return the session if it has been started, else None."""
    return spark.running if isinstance(spark, StartingSpark) else spark


def start_early(spark: Spark, size: int | None, *, needed: bool = True) -> None:
    """Report that there is new log, and how many bytes. See `StartingSpark.start_early`."""
    if isinstance(spark, StartingSpark):
        spark.start_early(size, needed=needed)
