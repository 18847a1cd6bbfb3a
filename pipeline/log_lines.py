"""What a run says while it runs: lines of a log, on standard error.

Everything is said through Python's logger `binlake`, with its fields as attributes of the record:
whoever calls Binlake from Python gets them in a handler of its own. The command line's are set up
here: a line of text, or a JSON object a line, or, on a terminal, only what no display shows.
"""

from __future__ import annotations

import json
import logging
import sys
from collections.abc import Callable
from datetime import datetime, timezone
from typing import Any, Literal, TextIO

from pythonjsonlogger.json import JsonFormatter

from pipeline.under_way import under_way

LOGGER = logging.getLogger("binlake")

Kind = Literal["text", "json"]

_ON_SCREEN = frozenset({"fault", "gap", "note", "run_failed"})
"""Events that a terminal shows by other means."""

_OWN = frozenset(vars(logging.makeLogRecord({}))) | {"message", "asctime"}
"""Attributes of every record: what else one has are the line's fields."""


def say(
    event: str,
    message: str,
    *,
    level: int = logging.INFO,
    trace: BaseException | None = None,
    **fields: object,
) -> None:
    """Log a line: `event` is its kind, which stays the same, `message` is for people.

    `trace` is an error, shown with where it was raised. Fields that are None are left out.
    """
    run = under_way()
    known = {"run_id": run.id, "source": run.source} if run else {}
    told = {name: value for name, value in {**known, **fields}.items() if value is not None}
    LOGGER.log(level, message, exc_info=trace, extra={"event": event, **told})


class TextFormatter(logging.Formatter):
    """`2026-11-22T13:30:00.123Z INFO bronze: batch 3: done event=batch_finished layer=bronze …`."""

    def format(self, record: logging.LogRecord) -> str:
        """A line, with its fields behind the message; a stack trace on lines of its own."""
        fields = {name: value for name, value in vars(record).items() if name not in _OWN}
        words = [
            datetime.fromtimestamp(record.created, timezone.utc).strftime("%Y-%m-%dT%H:%M:%S.%f"),
            record.levelname,
            record.getMessage(),
            *(f"{name}={_word(value)}" for name, value in fields.items()),
        ]
        words[0] = f"{words[0][:-3]}Z"
        trace = [self.formatException(record.exc_info)] if record.exc_info else []
        return "\n".join([" ".join(words), *trace])


class _Redacted(logging.Formatter):
    """Another formatter's lines, without secrets."""

    def __init__(self, inner: logging.Formatter, redact: Callable[[str], str]) -> None:
        super().__init__()
        self._inner = inner
        self._redact = redact

    def format(self, record: logging.LogRecord) -> str:
        return self._redact(self._inner.format(record))


def json_formatter() -> logging.Formatter:
    """One JSON object a line: time, level, logger, message, event, then the fields."""
    return JsonFormatter(
        ["levelname", "name", "message", "event"],
        rename_fields={"levelname": "level", "name": "logger"},
        # What has a default comes first.
        defaults={"time": None},
        timestamp="time",
    )


def set_up(kind: Kind, redact: Callable[[str], str] = str, stream: TextIO | None = None) -> bool:
    """Send the lines to standard error (or `stream`), and nowhere else; may be called again.

    Whether they tell everything: on a terminal, `text` leaves faults, gaps and notes to the report
    at the end, and says only what is not in it.
    """
    screen = stream or sys.stderr
    everything = kind == "json" or not screen.isatty()
    lines: logging.Formatter
    handler = logging.StreamHandler(screen)
    if kind == "json":
        handler, lines = _JsonLines(screen), json_formatter()
    elif everything:
        lines = TextFormatter()
    else:
        lines = logging.Formatter("binlake: %(message)s")
        handler.setLevel(logging.WARNING)
        handler.addFilter(lambda record: vars(record).get("event") not in _ON_SCREEN)
    handler.setFormatter(_Redacted(lines, redact))
    LOGGER.handlers = [handler]
    LOGGER.setLevel(logging.INFO)
    LOGGER.propagate = False
    return everything


def says_json() -> bool:
    """Whether standard error is to have nothing but JSON."""
    return any(isinstance(handler, _JsonLines) for handler in LOGGER.handlers)


class _JsonLines(logging.StreamHandler[TextIO]):
    """Where JSON goes."""


def _word(value: Any) -> str:
    """A value as one word, or in quotes."""
    if isinstance(value, datetime):
        return value.isoformat()
    if isinstance(value, float):
        return f"{value:.3f}"
    text = ",".join(map(str, value)) if isinstance(value, (list, tuple)) else str(value)
    plain = text and not any(c.isspace() or c in '"=' for c in text)
    return text if plain else json.dumps(text, ensure_ascii=False)
