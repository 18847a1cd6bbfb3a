"""The capture of a long-running process: a thread, restarted after a transient error.

The capture itself reconnects as long as the server is gone. The error that ends it is raised in
the main thread, by `tend` or `end`, and recorded, so that no failure of it is silent. An error
after which it reconnects is recorded if it lasts.
"""

from __future__ import annotations

import logging
import threading
import time

from pipeline.observe import say
from pipeline.run.sync.capture_records import CaptureRecords
from pipeline.settings import Settings
from pipeline.source import Capture
from pipeline.source.server.login import login

_LASTING_SECONDS = 60.0
"""Seconds for which a capture may reconnect, as during a restart of its server, without having
failed."""
_ENDING_SECONDS = 30.0
"""Seconds to wait for a capture to end: its last bytes are made durable and uploaded."""


class CaptureThread:
    """A thread that captures the settings' server into their folder, from the first `tend` on."""

    def __init__(self, settings: Settings, records: CaptureRecords) -> None:
        capture = settings.capture.model_copy(update={"forever": True})
        self._settings = settings.model_copy(update={"capture": capture})
        self._records = records
        self._capture: Capture | None = None
        self._thread: threading.Thread | None = None
        self._error: BaseException | None = None

    def tend(self) -> bool:
        """Start the capture unless it is running; return True if it was.

        Raises the error with which it has ended since, and SettingsError if no server is set.
        """
        with self._records.failures():
            return self._tend()

    def record_state(self) -> bool:
        """Record that the capture works again, once what the server sends is landed, or that it has
        failed for a while; return True if there was anything to record."""
        capture, running = self._capture, self._thread is not None and self._thread.is_alive()
        if capture is None or not running:
            return False
        error = capture.interrupted_by
        if error is None:
            return capture.follows and self._records.works()
        lasts = time.monotonic() - capture.interrupted_at >= _LASTING_SECONDS
        return lasts and self._records.interrupted(error)

    def end(self) -> None:
        """End the capture at a durable position. Raises the error that it ended with, if any."""
        with self._records.failures():
            self._end()

    def _tend(self) -> bool:
        if self._thread is not None and self._thread.is_alive():
            return True
        self._thread = None
        error, self._error = self._error, None
        if error is not None:
            raise error
        settings = self._settings
        self._capture = Capture(settings.capture, login(settings), wanted=settings.wanted)
        self._thread = threading.Thread(
            target=self._run, args=(self._capture,), name="capture", daemon=True
        )
        self._thread.start()
        return False

    def _end(self) -> None:
        if self._capture is None or self._thread is None:
            return
        self._capture.stop()
        self._thread.join(_ENDING_SECONDS)
        if self._thread.is_alive():
            message = (
                f"The capture did not stop within {_ENDING_SECONDS:.0f} s and was abandoned."
                " Nothing is lost: the next capture resumes at its last checkpoint."
            )
            say("capture_abandoned", message, level=logging.WARNING)
        if self._error is not None:
            raise self._error

    def _run(self, capture: Capture) -> None:
        try:
            capture.run()
        except BaseException as error:
            self._error = error
