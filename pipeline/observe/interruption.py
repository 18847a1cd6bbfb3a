"""Ctrl-C and SIGTERM: a command ends within seconds, with a line, its record, and no Java left.

The signal raises `Interrupted` in the main thread, which then waits, on its way out, for threads
that wait for Spark. So Spark's jobs are cancelled meanwhile, again and again: these threads may
begin others. What does not end in time is recorded and ended as it is, as Spark that still plans a
MERGE; at a second signal everything is ended. A run may be killed at any instant, and the next one
goes on from what is committed.
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
from typing import TYPE_CHECKING, Any

from pipeline.errors import Interrupted, exit_code_of

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

SIGNALS = (signal.SIGINT, signal.SIGTERM)
LONGEST, WITH_RECORD = 4.5, 9.0
"""Seconds from the signal to the end, whatever is under way; and where a record is being written,
which takes Spark some seconds as long as it is cold."""
_AGAIN = 0.2
"""Seconds between two cancellations."""
_SAME_SIGNAL = 0.5
"""Seconds in which a second signal is the first one: a wrapper passes on what a terminal sends to
both."""
_JAVA_SECONDS = 1.0
"""Seconds that Java is given to remove its temporary files."""
_SHOW_CURSOR = "\x1b[?25h"


class Interruption:
    """Heeds the signals of one command. `tell` says an error where people read it."""

    def __init__(self, tell: Callable[[Interrupted], None]) -> None:
        self.error: Interrupted | None = None
        self._tell = tell
        self._spark: SparkSession | None = None
        self._cancelling = threading.Lock()
        self._unwound = False
        self._last_words: Callable[[BaseException], None] | None = None
        self._context = copy_context()
        self._began = 0.0
        self._longest = LONGEST

    def handle(self, number: int, frame: FrameType | None) -> None:
        """Handle a signal. Raises Interrupted; ends the process at the second signal."""
        del frame
        if self.error is not None:
            if time.monotonic() - self._began > _SAME_SIGNAL:
                self._end_now()
            return
        self._began = time.monotonic()
        self.error = Interrupted(signal.Signals(number))
        threading.Thread(target=self._end_in_time, daemon=True).start()
        raise self.error

    def watch(self, spark: SparkSession) -> None:
        """Cancel the jobs of this session when it comes to that."""
        self._spark = spark
        _install(self)  # PySpark has put a handler of its own in place of this one

    def unwound(self, *, waits: bool) -> None:
        """What is begun from now on is to be done: the record of the run. `waits`: it is waited for
        longer than for anything else."""
        with self._cancelling:
            self._unwound = True
            self._longest = WITH_RECORD if waits else LONGEST

    def record_by(self, last_words: Callable[[BaseException], None] | None) -> None:
        """Have a run that does not end in time recorded by `last_words`, in a thread of its own."""
        self._last_words = last_words
        # By which lines of the log tell the run that they are of.
        self._context = copy_context()

    def finish(self) -> None:
        """End Java, and this process: nothing that a thread still does is waited for."""
        code = exit_code_of(self.error) if self.error else 0
        end_java(gently=self._spark is not None)
        os._exit(code)

    def _end_in_time(self) -> None:
        with suppress(Exception):  # Java may be gone by now
            self._silence_java()
        while time.monotonic() < self._began + self._longest:
            with self._cancelling, suppress(Exception):
                if not self._unwound:
                    self._cancel()
            time.sleep(_AGAIN)
        self._say_last_words()
        self._end_now()

    def _say_last_words(self) -> None:
        with self._cancelling:
            if self._unwound or self._last_words is None:
                return
            self._unwound = True
        arguments = (self._last_words, self.error)
        words = threading.Thread(target=self._context.run, args=arguments, daemon=True)
        words.start()
        words.join(max(self._began + WITH_RECORD - time.monotonic(), 0))

    def _end_now(self) -> None:
        if self.error is not None and not self.error.told:
            if sys.stderr.isatty():
                sys.stderr.write(_SHOW_CURSOR)  # a bar that is still drawn hides it
            self._tell(self.error)
        self._spark = None
        self.finish()

    def _silence_java(self) -> None:
        """What it says of jobs that are cancelled is no news."""
        context = _context_of(self._spark)
        if context is not None:
            context.setLogLevel("OFF")

    def _cancel(self) -> None:
        context = _context_of(self._spark)
        if context is not None:
            context.cancelAllJobs()
        elif self._spark is not None:
            self._spark.interruptAll()


_current: Interruption | None = None


@contextmanager
def heeding_signals(tell: Callable[[Interrupted], None]) -> Iterator[Interruption]:
    """Have the signals heeded until the end of the block, as far as this is the main thread."""
    global _current
    made = Interruption(tell)
    before = [signal.getsignal(number) for number in SIGNALS]
    _current = made
    _install(made)
    try:
        yield made
    finally:
        _current = None
        if _is_main_thread():
            for number, handler in zip(SIGNALS, before, strict=True):
                signal.signal(number, handler)


def watch(spark: SparkSession) -> None:
    """Tell the command under way, if there is one, of the session that it has begun."""
    if _current is not None:
        _current.watch(spark)


def record_by(last_words: Callable[[BaseException], None] | None) -> None:
    """Tell it what records the run that has begun; None once it has come to its end."""
    if _current is not None:
        _current.record_by(last_words)


def unwound(*, waits: bool) -> None:
    """Tell it that what ended the run has come to where its record is written."""
    if _current is not None:
        _current.unwound(waits=waits)


def _install(made: Interruption) -> None:
    if _is_main_thread():
        for number in SIGNALS:
            signal.signal(number, made.handle)


def _is_main_thread() -> bool:
    return threading.current_thread() is threading.main_thread()


def _context_of(spark: SparkSession | None) -> Any:
    """Spark's context where it is in this process's Java; None behind Spark Connect."""
    if spark is None or not hasattr(spark, "_jsparkSession"):
        return None
    return spark.sparkContext


def end_java(*, gently: bool) -> None:
    """End what this process has started, when it ends itself; nothing is said from here on.

    `gently`: Java removes its temporary files first.
    """
    for stream in (sys.stdout, sys.stderr):
        with suppress(OSError, ValueError):
            stream.flush()
    # All is said: PySpark's threads would add that Java has gone.
    os.dup2(os.open(os.devnull, os.O_WRONLY), 2)
    started = _descendants(os.getpid())
    launched = _launched_java()
    if launched is not None and gently:
        # It ends by itself where nobody can tell it anything any more.
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
    """The process that PySpark has started, where it has."""
    context = getattr(sys.modules.get("pyspark.core.context"), "SparkContext", None)
    return getattr(getattr(context, "_gateway", None), "proc", None)


def _descendants(process: int) -> list[int]:
    """Processes that a process has started, and those that these have; none without /proc."""
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
