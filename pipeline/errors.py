"""Errors that a user can cause: a common base class with fields, a remedy and an exit code.

Exit codes: 2 for configuration and command line errors, 3 for a run that completed with faults or
a gap, 1 for anything else. `retryable`: True if a scheduler may retry without any other change.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from signal import Signals

from decoder import BinlogError

LONGEST = 1000
"""Most characters kept of a third-party error's message: Spark's run to pages."""

_PYTHON_ERROR = re.compile(r"^([\w.]*(?:Error|Exception)\w*: .*)$", re.MULTILINE)
_JAVA_FRAME = re.compile(r"^\s*at [\w.$/<>@+-]+\(", re.MULTILINE)
_CAUSE = re.compile(r"^\s*(Caused by: .*)$", re.MULTILINE)


class BinlakeError(Exception):
    """An error that stops a run; `reason` is what happened, `remedy` what to do next."""

    exit_code = 1
    retryable = False

    def __init__(self, reason: str, *, remedy: str = "") -> None:
        super().__init__(reason, remedy)
        self.reason = reason
        self.remedy = remedy

    def __str__(self) -> str:
        return f"{self.reason} {self.remedy}".strip()


class SettingsError(BinlakeError):
    """An invalid setting or option; `key` is its dotted path, `file` the file it was read from."""

    exit_code = 2

    def __init__(
        self, reason: str, *, key: str = "", file: str | None = None, remedy: str = ""
    ) -> None:
        super().__init__(reason, remedy=remedy)
        self.key = key
        self.file = file

    def __str__(self) -> str:
        where = ": ".join(part for part in (self.file, self.key) if part)
        return f"{where}: {super().__str__()}" if where else super().__str__()


class NothingReplicatedError(SettingsError):
    """The lake does not exist yet, or has no such source: the first run creates both."""


class InvalidSettingsError(SettingsError):
    """Several invalid settings; `mistakes` has one error for each."""

    def __init__(self, mistakes: Sequence[SettingsError], file: str | None = None) -> None:
        lines = "".join(f"\n  {mistake}" for mistake in mistakes)
        super().__init__(f"{len(mistakes)} settings are wrong:{lines}", file=file)
        self.mistakes = tuple(mistakes)


class MissingRequirementError(BinlakeError):
    """A requirement that this machine lacks (a JDK, Delta's jars, a writable folder)."""


class UnreachableError(BinlakeError):
    """A store that cannot be reached: the network is down, or a token has expired.

    `key` is the setting that names the store. It may be wrong too: the errors look the same.
    """

    retryable = True

    def __init__(self, reason: str, *, key: str, remedy: str = "") -> None:
        super().__init__(reason, remedy=remedy)
        self.key = key

    def __str__(self) -> str:
        return f"{self.key}: {super().__str__()}"


class ConcurrentRunError(BinlakeError):
    """Another run holds what this one needs, or every attempt at a commit conflicted."""

    retryable = True


class LakeLostError(ConcurrentRunError):
    """This run lost its lease, or may have: another run may own the lake, so it stops at once."""


def has_sentence(error: BaseException) -> bool:
    """Return True if the error is one of Binlake's: its message suffices without a traceback."""
    return isinstance(error, BinlakeError | BinlogError)


DONE = 0
FAILED = 1
DONE_WITH_FAULTS = 3
"""The exit code of a run that completed with held tables, gaps or differences."""
INTERRUPTED = 130
"""The exit code of a run stopped with Ctrl-C, by the shells' convention."""
INTERRUPTED_SENTENCE = "Interrupted: committed work is kept. Run the same command again to resume."


class Interrupted(KeyboardInterrupt):
    """A signal ended the command. `reported`: True once its message was shown or logged."""

    def __init__(self, signal: Signals) -> None:
        super().__init__(signal.name)
        self.signal = signal
        self.reported = False

    @property
    def exit_code(self) -> int:
        """128 plus the signal, by the shells' convention: 130 for Ctrl-C, 143 for SIGTERM."""
        return 128 + self.signal


def exit_code_of(error: BaseException) -> int:
    """Return the exit code of a process that ends with this error."""
    if isinstance(error, KeyboardInterrupt):
        return error.exit_code if isinstance(error, Interrupted) else INTERRUPTED
    return error.exit_code if isinstance(error, BinlakeError) else 1


def sentence_of(error: BaseException) -> str:
    """Return an error's message in one line, without the stack traces that Spark and Java embed.

    The "Caused by" lines of a Java stack trace are kept. Never raises: the text of a Java error is
    fetched from the JVM, which may be gone.
    """
    if isinstance(error, KeyboardInterrupt):
        return INTERRUPTED_SENTENCE
    try:
        text = str(error)
    except Exception:
        text = ""
    causes: list[str] = []
    if "Traceback (most recent call last)" in text and (found := _PYTHON_ERROR.findall(text)):
        text = found[-1]  # raised in a Spark task
    elif frame := _JAVA_FRAME.search(text):
        causes = _CAUSE.findall(text, frame.start())
        text = text[: frame.start()]
    text = " ".join(text.split())
    if not has_sentence(error):
        text = f"{type(error).__name__}: {text}" if text else type(error).__name__
    return _with_causes(text, causes)


def _with_causes(text: str, causes: Sequence[str]) -> str:
    """Append all causes, or only the last, which is the root cause, if that gets too long."""
    lines = [" ".join(cause.split()) for cause in dict.fromkeys(causes)]
    whole = " ".join([text, *lines])
    if len(whole) <= LONGEST or not lines:
        return _shortened(whole, LONGEST)
    last = _shortened(lines[-1], LONGEST // 2)
    return f"{_shortened(text, LONGEST - len(last) - 1)} {last}"


def _shortened(text: str, longest: int) -> str:
    return text if len(text) <= longest else f"{text[: longest - 1]}…"
