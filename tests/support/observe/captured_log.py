"""Capture the pipeline's log records in tests."""

from __future__ import annotations

import logging
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from pipeline.observe.run_log import LOGGER


class LogRecords(logging.Handler):
    """Every record as a dict: its fields, and its text as `message`."""

    def __init__(self) -> None:
        super().__init__()
        self.lines: list[dict[str, Any]] = []

    def emit(self, record: logging.LogRecord) -> None:
        """Keep the record."""
        self.lines.append({**vars(record), "message": record.getMessage()})

    def of(self, event: str) -> list[dict[str, Any]]:
        """Return the records of one event."""
        return [line for line in self.lines if line["event"] == event]


@contextmanager
def captured_log() -> Iterator[LogRecords]:
    """Replace the logger's handlers for the duration of the `with`, then restore them and the root
    logger's.
    """
    root = logging.getLogger()
    others = root.handlers
    handlers, level, propagate = LOGGER.handlers, LOGGER.level, LOGGER.propagate
    records = LogRecords()
    LOGGER.handlers, LOGGER.propagate = [records], False
    LOGGER.setLevel(logging.INFO)
    try:
        yield records
    finally:
        LOGGER.handlers, LOGGER.propagate = handlers, propagate
        LOGGER.setLevel(level)
        root.handlers = others
