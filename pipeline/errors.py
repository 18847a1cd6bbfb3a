"""Errors that a user can cause: one root, fields, a sentence that says what to do, an exit code.

Exit codes: 2 for configuration and command line, 3 for work done but with faults or a gap,
1 for anything else. `retryable` tells a scheduler whether running again can help by itself.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from signal import Signals

from decoder import BinlogError

LONGEST = 1000
"""Characters of a sentence about an error that is not ours: Spark's fill pages."""

_PYTHON_ERROR = re.compile(r"^([\w.]*(?:Error|Exception)\w*: .*)$", re.MULTILINE)
_JAVA_FRAME = re.compile(r"^\s*at [\w.$/<>@+-]+\(", re.MULTILINE)
_CAUSE = re.compile(r"^\s*(Caused by: .*)$", re.MULTILINE)


class BinlakeError(Exception):
    """Something that stops a run, with `reason` and `remedy` (what to do next)."""

    exit_code = 1
    retryable = False

    def __init__(self, reason: str, *, remedy: str = "") -> None:
        super().__init__(reason, remedy)
        self.reason = reason
        self.remedy = remedy

    def __str__(self) -> str:
        return f"{self.reason} {self.remedy}".strip()


class SettingsError(BinlakeError):
    """A setting or option is wrong; `key` is its dotted path, `file` where it stands."""

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


class InvalidSettingsError(SettingsError):
    """Several settings are wrong: `mistakes` has an error for each."""

    def __init__(self, mistakes: Sequence[SettingsError], file: str | None = None) -> None:
        lines = "".join(f"\n  {mistake}" for mistake in mistakes)
        super().__init__(f"{len(mistakes)} settings are wrong:{lines}", file=file)
        self.mistakes = tuple(mistakes)


class MissingRequirementError(BinlakeError):
    """The machine lacks something (a JDK, Delta's jars, a writable folder)."""


class UnreachableError(BinlakeError):
    """A store does not answer as it should: a network that is down, a token that has run out.

    `key` is the setting that leads there: it may be wrong as well, which nothing tells apart.
    """

    retryable = True

    def __init__(self, reason: str, *, key: str, remedy: str = "") -> None:
        super().__init__(reason, remedy=remedy)
        self.key = key

    def __str__(self) -> str:
        return f"{self.key}: {super().__str__()}"


class ConcurrentRunError(BinlakeError):
    """Another run holds what this one needs, and the store cannot tell the two apart."""

    retryable = True


class LakeLostError(ConcurrentRunError):
    """Another run has taken the lake over, or may have: this one must stop at once."""


def has_sentence(error: BaseException) -> bool:
    """Whether it is one of ours, whose text says what to do: where it was raised is of no use."""
    return isinstance(error, BinlakeError | BinlogError)


DONE = 0
DONE_WITH_FAULTS = 3
"""The exit code of work that is done but for what is held, missing, or differs."""
INTERRUPTED = 130
"""The exit code of a run that is stopped with Ctrl-C, as shells have it."""
INTERRUPTED_SENTENCE = "Interrupted: what is done stays; run the same command again to go on."


class Interrupted(KeyboardInterrupt):
    """A signal ended the command. `told`: people have been told."""

    def __init__(self, signal: Signals) -> None:
        super().__init__(signal.name)
        self.signal = signal
        self.told = False

    @property
    def exit_code(self) -> int:
        """As shells have it: 130 of Ctrl-C, 143 of SIGTERM."""
        return 128 + self.signal


def exit_code_of(error: BaseException) -> int:
    """What a process that ends with this error exits with."""
    if isinstance(error, KeyboardInterrupt):
        return error.exit_code if isinstance(error, Interrupted) else INTERRUPTED
    return error.exit_code if isinstance(error, BinlakeError) else 1


def sentence_of(error: BaseException) -> str:
    """An error in a line: what it says, without the stack traces that others put into theirs.

    Of those their causes stay. Never raises: an error of Java's asks Java what it says.
    """
    if isinstance(error, KeyboardInterrupt):
        return INTERRUPTED_SENTENCE
    try:
        text = str(error)
    except Exception:
        text = ""
    causes: list[str] = []
    if "Traceback (most recent call last)" in text and (found := _PYTHON_ERROR.findall(text)):
        text = found[-1]  # what a task of Spark's raised
    elif frame := _JAVA_FRAME.search(text):
        causes = _CAUSE.findall(text, frame.start())
        text = text[: frame.start()]
    text = " ".join(text.split())
    if not has_sentence(error):
        text = f"{type(error).__name__}: {text}" if text else type(error).__name__
    return _with_causes(text, causes)


def _with_causes(text: str, causes: Sequence[str]) -> str:
    """All of them, or, where that is too long, the last: it is what began it."""
    told = [" ".join(cause.split()) for cause in dict.fromkeys(causes)]
    whole = " ".join([text, *told])
    if len(whole) <= LONGEST or not told:
        return _cut(whole, LONGEST)
    last = _cut(told[-1], LONGEST // 2)
    return f"{_cut(text, LONGEST - len(last) - 1)} {last}"


def _cut(text: str, longest: int) -> str:
    return text if len(text) <= longest else f"{text[: longest - 1]}…"
