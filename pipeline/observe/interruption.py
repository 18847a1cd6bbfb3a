"""Ctrl-C and SIGTERM: a command ends within seconds, with a message, its run record and no Java.

The signal raises `Interrupted` in the main thread, which then waits for threads that wait for
Spark. Spark's jobs are therefore cancelled repeatedly, since these threads may start others. A
command that does not end in time (Spark may be planning a MERGE) is recorded and killed; a second
signal kills it immediately. A run may be killed at any instant: the next one resumes from what is
committed.

Tasks in threads of this process are cancelled by a check between two of their reads.

A long-running command finishes its current work first (`on_first_signal`).
"""

from __future__ import annotations

import os
import signal
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from contextvars import copy_context
from pathlib import Path
from subprocess import TimeoutExpired
from types import FrameType
from typing import TYPE_CHECKING, Any, NoReturn

from pipeline.errors import Interrupted, exit_code_of

if TYPE_CHECKING:
    from pyspark import SparkContext
    from pyspark.sql import SparkSession

SIGNALS = (signal.SIGINT, signal.SIGTERM)
LONGEST, WITH_RECORD = 4.5, 9.0
"""Seconds from the signal to the end of the process; and the same if a run record is being written,
which takes a cold Spark some seconds."""
_CANCEL_INTERVAL = 0.2
"""Seconds between two cancellations."""
_SAME_SIGNAL = 0.5
"""Seconds in which a second signal counts as the first: a terminal sends it to the wrapper and to
this process, and the wrapper forwards it."""
_JAVA_SECONDS = 1.0
"""Seconds that Java gets to remove its temporary files."""
_SHOW_CURSOR = "\x1b[?25h"


class Interruption:
    """The signal handler of one command. `show` shows an error to the user."""

    def __init__(self, show: Callable[[Interrupted], None]) -> None:
        self.error: Interrupted | None = None
        self.spark: SparkSession | None = None
        self.cancelling = threading.Lock()
        self.is_unwound = False
        self.write_record: Callable[[BaseException], None] | None = None
        self.context = copy_context()
        self.longest = LONGEST
        self.stop: Callable[[], None] | None = None
        self.leaves_threads = False
        """True if a thread may still be at work when the command ends."""
        self._show = show
        self._began = 0.0
        self._stopping = False

    def handle(self, number: int, frame: FrameType | None) -> None:
        """Handle a signal. Raises Interrupted, or calls `stop` if that is set; ends the process at
        the second signal."""
        del frame
        if self.error is not None or self._stopping:
            if time.monotonic() - self._began > _SAME_SIGNAL:
                self.error = self.error or Interrupted(signal.Signals(number))
                self._end_now()
            return
        self._began = time.monotonic()
        if self.stop is not None:
            self._stopping = True
            self.stop()
            return
        self.error = Interrupted(signal.Signals(number))
        threading.Thread(target=self._end_in_time, daemon=True).start()
        raise self.error

    def finish(self, code: int) -> NoReturn:
        """End Java and this process without waiting for any thread."""
        end_java(gently=self.spark is not None)
        os._exit(code)

    def _end_in_time(self) -> None:
        with suppress(Exception):  # Java may be gone by now
            self._silence_java()
        while time.monotonic() < self._began + self.longest:
            with self.cancelling, suppress(Exception):
                if not self.is_unwound:
                    self._cancel()
            time.sleep(_CANCEL_INTERVAL)
        self._record_run()
        self._end_now()

    def _record_run(self) -> None:
        with self.cancelling:
            if self.is_unwound or self.write_record is None:
                return
            self.is_unwound = True
        arguments = (self.write_record, self.error)
        writer = threading.Thread(target=self.context.run, args=arguments, daemon=True)
        writer.start()
        writer.join(max(self._began + WITH_RECORD - time.monotonic(), 0))

    def _end_now(self) -> None:
        if self.error is not None and not self.error.reported:
            if sys.stderr.isatty():
                sys.stderr.write(_SHOW_CURSOR)  # hidden by a progress bar that is still drawn
            self._show(self.error)
        self.spark = None
        self.finish(exit_code_of(self.error) if self.error else 0)

    def _silence_java(self) -> None:
        """Turn off Spark's log: it reports each cancelled job."""
        context = context_of(self.spark)
        if context is not None:
            context.setLogLevel("OFF")

    def _cancel(self) -> None:
        context = context_of(self.spark)
        if context is not None:
            context.cancelAllJobs()
        elif self.spark is not None:
            self.spark.interruptAll()


_current: Interruption | None = None


@contextmanager
def handling_signals(show: Callable[[Interrupted], None]) -> Iterator[Interruption]:
    """Handle the signals until the end of the block; a no-op outside of the main thread."""
    global _current
    interruption = Interruption(show)
    previous = [signal.getsignal(number) for number in SIGNALS]
    _current = interruption
    _install(interruption)
    try:
        yield interruption
    finally:
        _current = None
        if _is_main_thread():
            for number, handler in zip(SIGNALS, previous, strict=True):
                signal.signal(number, handler)


def watch(spark: SparkSession) -> None:
    """Cancel the jobs of this session on a signal to the current command, if there is one."""
    if _current is not None:
        _current.spark = spark
        _install(_current)  # PySpark has replaced this handler by its own


@contextmanager
def on_first_signal(stop: Callable[[], None] | None) -> Iterator[None]:
    """Until the end of the block, call `stop` at the first signal instead of raising Interrupted;
    None: raise it, inside such a block.

    `stop` must return at once, and must not log: the signal may have come while a line was written.
    """
    if _current is None:
        yield
        return
    before, _current.stop = _current.stop, stop
    try:
        yield
    finally:
        if _current is not None:
            _current.stop = before


def leave_threads() -> None:
    """Let the current command end although a thread is still at work.

    Python would end that thread while it finalizes: inside native code, such as a reading of
    Parquet, this crashes the process.
    """
    if _current is not None:
        _current.leaves_threads = True


def record_by(write_record: Callable[[BaseException], None] | None) -> None:
    """Record a run that does not end in time with `write_record`, in a thread of its own; None when
    the run has ended."""
    if _current is not None:
        if _current.error is None:
            _current.is_unwound = False  # an earlier run of this process may have failed
        _current.write_record = write_record
        # Log lines take the run's id from the context.
        _current.context = copy_context()


def unwound(*, waits: bool) -> None:
    """Stop cancelling: the current run has stopped, and jobs started from now on write its record.
    `waits`: allow the time that a record takes."""
    if _current is not None:
        with _current.cancelling:
            _current.is_unwound = True
            _current.longest = WITH_RECORD if waits else LONGEST


def _install(interruption: Interruption) -> None:
    if _is_main_thread():
        for number in SIGNALS:
            signal.signal(number, interruption.handle)


def _is_main_thread() -> bool:
    return threading.current_thread() is threading.main_thread()


def context_of(spark: SparkSession | None) -> SparkContext | None:
    """Return the SparkContext of this process's Java; None with Spark Connect."""
    if spark is None or not hasattr(spark, "_jsparkSession"):
        return None
    return spark.sparkContext


def end_java(*, gently: bool) -> None:
    """Kill the processes that this one has started, as its last step; standard error is closed.

    `gently`: let Java remove its temporary files first.
    """
    for stream in (sys.stdout, sys.stderr):
        with suppress(OSError, ValueError):
            stream.flush()
    # PySpark's threads would report the lost connection to Java.
    os.dup2(os.open(os.devnull, os.O_WRONLY), 2)
    started = _descendants(os.getpid())
    launched = _launched_java()
    if launched is not None and gently:
        # PySpark's gateway exits when its standard input is closed.
        with suppress(OSError):
            launched.stdin.close()
        with suppress(TimeoutExpired):
            launched.wait(_JAVA_SECONDS)
    for process in started:
        with suppress(ProcessLookupError, PermissionError):
            os.kill(process, signal.SIGKILL)
    if launched is not None:
        with suppress(TimeoutExpired):
            launched.wait(_JAVA_SECONDS)


def _launched_java() -> Any:
    """Return the Java process that PySpark has started; None if it has not."""
    context = getattr(sys.modules.get("pyspark.core.context"), "SparkContext", None)
    return getattr(getattr(context, "_gateway", None), "proc", None)


def _descendants(process: int) -> list[int]:
    """Return the ids of all descendants of a process; none without /proc."""
    children: dict[int, list[int]] = {}
    for stat in Path("/proc").glob("[0-9]*/stat"):
        with suppress(OSError):
            parent = int(stat.read_text().rpartition(")")[2].split()[1])
            children.setdefault(parent, []).append(int(stat.parent.name))
    found: list[int] = []
    left = [process]
    while left:
        begun = children.get(left.pop(), [])
        found += begun
        left += begun
    return found


class CancelledTaskError(Exception):
    """Raised in the thread of a cancelled task; nobody handles it."""


_OF_THIS_THREAD = threading.local()


def cancel_when_set(cancelled: threading.Event) -> None:
    """Cancel the tasks of this thread once `cancelled` is set.

    A thread cannot be killed from outside, so a task that reads for a long time checks between two
    reads. Spark's workers do not need it: Spark kills their tasks itself.
    """
    _OF_THIS_THREAD.cancelled = cancelled


def raise_if_cancelled() -> None:
    """Raise CancelledTaskError if the task of this thread was cancelled."""
    cancelled: threading.Event | None = getattr(_OF_THIS_THREAD, "cancelled", None)
    if cancelled is not None and cancelled.is_set():
        raise CancelledTaskError
