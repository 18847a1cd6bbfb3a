"""The log of a run, on standard error.

Everything is logged by Python's logger `binlake`, with the fields as attributes of the record:
programs that call Binlake from Python can add a handler of their own, and get no secrets either.
This module sets up the command line's handlers: text lines, one JSON object per line, or, on a
terminal, only what is not displayed otherwise.
"""

from __future__ import annotations

import json
import logging
import sys
from datetime import datetime, timezone
from pathlib import Path
from typing import Any, Literal, TextIO

from pythonjsonlogger.json import JsonFormatter

from pipeline.observe.current_run import under_way
from pipeline.observe.redaction import redact

LOGGER = logging.getLogger("binlake")

LogFormat = Literal["text", "json"]

_ON_SCREEN = frozenset({"fault", "gap", "note", "run_failed"})
"""Events that a terminal shows by other means."""

_OWN = frozenset(vars(logging.makeLogRecord({}))) | {"message", "asctime"}
"""Attributes that every record has; all others are the line's fields."""

_NAMES = frozenset({"event", "run_id", "planned_by", "source", "command", "layer", "outcome"})
"""Fields that lines are searched by: never redacted, even if a secret has the same text."""


class _Redacting(logging.Filter):
    """Filter that redacts a record's message, fields and stack trace before any handler sees it."""

    def filter(self, record: logging.LogRecord) -> bool:
        record.msg, record.args = redact(record.getMessage()), None
        if record.exc_info:
            record.exc_text = redact(logging.Formatter().formatException(record.exc_info))
            record.exc_info = None
        for name in vars(record).keys() - _OWN - _NAMES:
            setattr(record, name, redact.value(getattr(record, name)))
        return True


class _NotOfPy4j(logging.Filter):
    """Filter that drops py4j's lines about interrupted connections, which it also raises."""

    def filter(self, record: logging.LogRecord) -> bool:
        return Path(record.pathname).parent.name != "py4j"


LOGGER.addFilter(_Redacting())


def say(
    event: str,
    message: str,
    *,
    level: int = logging.INFO,
    trace: BaseException | None = None,
    **fields: object,
) -> None:
    """Log a line: `event` is the stable name of its kind, `message` is for people.

    `trace` is an error to log with its traceback. Fields that are None are left out.
    """
    run = under_way()
    known = {"run_id": run.id, "source": run.source} if run else {}
    extra = {name: value for name, value in {**known, **fields}.items() if value is not None}
    LOGGER.log(level, message, exc_info=trace, extra={"event": event, **extra})


class TextFormatter(logging.Formatter):
    """`2026-11-22T13:30:00.123Z INFO bronze: batch 3: done event=batch_finished layer=bronze …`."""

    def format(self, record: logging.LogRecord) -> str:
        """Format a line with its fields after the message, and any stack trace below it."""
        fields = {name: value for name, value in vars(record).items() if name not in _OWN}
        words = [
            datetime.fromtimestamp(record.created, timezone.utc).strftime("%Y-%m-%dT%H:%M:%S.%f"),
            record.levelname,
            record.getMessage(),
            *(f"{name}={_word(value)}" for name, value in fields.items()),
        ]
        words[0] = f"{words[0][:-3]}Z"
        trace = [record.exc_text] if record.exc_text else []
        return "\n".join([" ".join(words), *trace])


def json_formatter() -> logging.Formatter:
    """Return a formatter of JSON lines: time, level, logger, message, event, then the fields."""
    return JsonFormatter(
        ["levelname", "name", "message", "event"],
        rename_fields={"levelname": "level", "name": "logger"},
        # Parameters with a default come first.
        defaults={"time": None},
        timestamp="time",
    )


def set_up_log(
    kind: LogFormat, stream: TextIO | None = None, *, quiet: bool = False, verbose: bool = False
) -> bool:
    """Send log lines to standard error (or `stream`), and nowhere else; may be called again.

    Returns True if they include faults, gaps and the error that ends a run. By default, `text` on a
    terminal leaves these to the report at the end, and prints only warnings that are not in it.
    `quiet`: only warnings and errors. `verbose`: every line, also on a terminal. Warnings of
    libraries go to the same place.
    """
    screen = stream or sys.stderr
    brief = kind == "text" and screen.isatty() and not verbose
    own, others = (_Lines(kind, screen, brief=brief, quiet=quiet) for _ in range(2))
    others.addFilter(_NotOfPy4j())
    others.addFilter(_Redacting())
    LOGGER.handlers = [own]
    LOGGER.setLevel(logging.INFO)
    LOGGER.propagate = False
    root = logging.getLogger()
    root.handlers = [*(h for h in root.handlers if not isinstance(h, _Lines)), others]
    return own.complete


def logs_json() -> bool:
    """Return True if standard error must contain nothing but JSON lines."""
    return any(isinstance(each, _Lines) and each.kind == "json" for each in LOGGER.handlers)


def log_is_complete() -> bool:
    """Return True if the log's lines include the error that ends a run."""
    return any(isinstance(each, _Lines) and each.complete for each in LOGGER.handlers)


class _Lines(logging.StreamHandler[TextIO]):
    """Handler of the command line's log lines; `complete`: no fault, gap or error is left out."""

    def __init__(self, kind: LogFormat, screen: TextIO, *, brief: bool, quiet: bool) -> None:
        super().__init__(screen)
        self.kind = kind
        self.complete = quiet or not brief
        if kind == "json":
            self.setFormatter(json_formatter())
        elif brief:
            self.setFormatter(logging.Formatter("binlake: %(message)s"))
        else:
            self.setFormatter(TextFormatter())
        if quiet or brief:
            self.setLevel(logging.WARNING)
        if not self.complete:
            self.addFilter(lambda record: vars(record).get("event") not in _ON_SCREEN)


def _word(value: Any) -> str:
    """Return a value as one word, or quoted."""
    if isinstance(value, datetime):
        return value.isoformat()
    if isinstance(value, float):
        return f"{value:.3f}"
    text = ",".join(map(str, value)) if isinstance(value, (list, tuple)) else str(value)
    plain = text and not any(c.isspace() or c in '"=' for c in text)
    return text if plain else json.dumps(text, ensure_ascii=False)
