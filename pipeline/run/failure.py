"""The log line of a failed run: written once, whether the run leaves a record or not."""

from __future__ import annotations

import logging
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from pipeline.errors import BinlakeError, Interrupted, exit_code_of, has_sentence, sentence_of
from pipeline.observe import redact, say
from pipeline.observe.log import log_is_complete


class Failure:
    """The failure of a command; `logged` is the error in the log, None before that."""

    def __init__(self, command: str) -> None:
        self._command = command
        self.logged: BaseException | None = None

    def log(self, error: BaseException) -> dict[str, Any]:
        """Log the error; return the fields of a run's record that describe it."""
        self.logged = error
        ending: dict[str, Any] = {
            "exit_code": exit_code_of(error),
            "error": redact(sentence_of(error)),
            "error_type": type(error).__name__,
            "retryable": error.retryable if isinstance(error, BinlakeError) else None,
        }
        unexpected = isinstance(error, Exception) and not has_sentence(error)
        failed = not isinstance(error, KeyboardInterrupt)
        ending["outcome"] = "failed" if failed else "interrupted"
        message = f"{self._command}{' failed' if failed else ''}: {ending['error']}"
        level = logging.ERROR if failed else logging.WARNING
        say("run_failed", message, level=level, trace=error if unexpected else None, **ending)
        if isinstance(error, Interrupted):
            error.reported = log_is_complete()
        return ending


@contextmanager
def failure_logged(command: str) -> Iterator[Failure]:
    """Log the error that ends the block, unless it is in the log already.

    That is an error before the run has a recorder, or after its record: the lease was lost.
    """
    failure = Failure(command)
    try:
        yield failure
    except (Exception, KeyboardInterrupt) as error:
        if error is not failure.logged:
            failure.log(error)
        raise
