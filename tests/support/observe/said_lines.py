"""What the pipeline says in its log, kept for a test to look at."""

from __future__ import annotations

import logging
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from pipeline.observe.log import LOGGER


class Said(logging.Handler):
    """Every line as a dict: its fields, and its message as `message`."""

    def __init__(self) -> None:
        super().__init__()
        self.lines: list[dict[str, Any]] = []

    def emit(self, record: logging.LogRecord) -> None:
        """Keep it."""
        self.lines.append({**vars(record), "message": record.getMessage()})

    def of(self, event: str) -> list[dict[str, Any]]:
        """The lines of one kind."""
        return [line for line in self.lines if line["event"] == event]


@contextmanager
def listening() -> Iterator[Said]:
    """Instead of whatever the logger has; it is as it was afterwards, as the root logger is."""
    root = logging.getLogger()
    others = root.handlers
    handlers, level, propagate = LOGGER.handlers, LOGGER.level, LOGGER.propagate
    said = Said()
    LOGGER.handlers, LOGGER.propagate = [said], False
    LOGGER.setLevel(logging.INFO)
    try:
        yield said
    finally:
        LOGGER.handlers, LOGGER.propagate = handlers, propagate
        LOGGER.setLevel(level)
        root.handlers = others
