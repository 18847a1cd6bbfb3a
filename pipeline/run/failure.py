"""How a run that fails is said: once, whether it leaves a record or not."""

from __future__ import annotations

import logging
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from pipeline.errors import BinlakeError, Interrupted, exit_code_of, has_sentence, sentence_of
from pipeline.observe import redact, say
from pipeline.observe.log import says_everything


class Failure:
    """A command's; `said` is the error that a line was written of."""

    def __init__(self, command: str) -> None:
        self._command = command
        self.said: BaseException | None = None

    def say(self, error: BaseException) -> dict[str, Any]:
        """Write the line; gives what a record has of the error too."""
        self.said = error
        ending: dict[str, Any] = {
            "exit_code": exit_code_of(error),
            "error": redact(sentence_of(error)),
            "error_type": type(error).__name__,
            "retryable": error.retryable if isinstance(error, BinlakeError) else None,
        }
        odd = isinstance(error, Exception) and not has_sentence(error)
        failed = not isinstance(error, KeyboardInterrupt)
        ending["outcome"] = "failed" if failed else "interrupted"
        told = f"{self._command}{' failed' if failed else ''}: {ending['error']}"
        level = logging.ERROR if failed else logging.WARNING
        say("run_failed", told, level=level, trace=error if odd else None, **ending)
        if isinstance(error, Interrupted):
            error.told = says_everything()
        return ending


@contextmanager
def failure_said(command: str) -> Iterator[Failure]:
    """Whatever ends the `with` is said: here, if not by then, as what comes before there is a
    record to be kept, or behind it (the lake was lost meanwhile)."""
    failure = Failure(command)
    try:
        yield failure
    except (Exception, KeyboardInterrupt) as error:
        if error is not failure.said:
            failure.say(error)
        raise
