"""Checkpoints: when landed bytes become durable, and the state written then."""

from __future__ import annotations

import time
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import replace
from pathlib import Path

from pipeline.settings.capture import CheckpointSettings
from pipeline.source.capture.dump_items import LogBytes
from pipeline.source.capture.errors import LostConnectionError
from pipeline.source.capture.landed_folder import LandedFolder
from pipeline.source.capture.object_store import Published
from pipeline.source.capture.source import LogEnd, LogFile, SourceQueries
from pipeline.source.capture.state import CaptureState, Lag, write_state
from pipeline.source.server.errors import ServerError
from pipeline.source.server.log_position import LogPosition, number_of

ASK_SECONDS = 5.0
"""Least interval between queries of the server's log end."""


class Checkpoints:
    """Checkpoints of a capture: `state` follows the landed files, and is written after them.

    `home`: the folder of the state file, which is the landed folder or its parent.
    """

    def __init__(
        self,
        folder: LandedFolder,
        state: CaptureState,
        settings: CheckpointSettings,
        published: Published | None = None,
        *,
        home: Path | None = None,
    ) -> None:
        self.state = state
        self._folder = folder
        self._home = home or folder.path
        self._settings = settings
        self._published = published
        self._bytes = 0
        self._last = time.monotonic()
        self._asked_at = float("-inf")
        self._timestamp = 0
        self._logs: Sequence[LogFile] = ()
        self._log_end: LogEnd | None = None

    def count(self, landed: LogBytes, new: int) -> None:
        """Count landed bytes, of which `new` had not been landed before."""
        repeated = int(0 < new < len(landed.data))
        self._bytes += new
        self._timestamp = landed.timestamp or self._timestamp
        self.state = replace(
            self.state,
            bytes=self.state.bytes + new,
            events=self.state.events + (landed.events - repeated if new else 0),
            transactions=self.state.transactions + (landed.transactions if new else 0),
            gtid=landed.gtid or self.state.gtid,
        )

    @property
    def due(self) -> bool:
        """True if the next checkpoint is due."""
        return self._bytes >= self._settings.bytes or (self._bytes > 0 and self.seconds_left <= 0)

    @property
    def seconds_left(self) -> float:
        """Seconds until the next checkpoint is due; never negative."""
        return max(0.0, self._last + self._settings.seconds - time.monotonic())

    def make(self) -> LogPosition | None:
        """Make all landed events durable, write the state, and return the durable position."""
        end = self._folder.make_durable()
        self._bytes, self._last = 0, time.monotonic()
        if end is not None:
            self.state = replace(self.state, file=end.file, position=end.position)
        self._measure()
        self.write()
        return end

    def ask(self, source: SourceQueries, *, final: bool = False) -> None:
        """Query the server's log end into the state, at most every `ASK_SECONDS` unless `final`."""
        if not final and time.monotonic() - self._asked_at < ASK_SECONDS:
            return
        # If the query fails, the lag is unknown.
        self._logs, self._log_end = (), None
        with suppress(LostConnectionError, ServerError):
            self._logs, self._log_end = source.logs(), source.end()
        # Measured from the answer, so that a slow server is not queried continuously.
        self._asked_at = time.monotonic()
        self._measure()
        self.write()

    def lost(self, why: str) -> None:
        """Record a lost connection: the lag is unknown until the server answers again."""
        self._logs, self._log_end = (), None
        reconnects = self.state.reconnects + 1
        self.state = replace(self.state, reconnects=reconnects, last_error=why, lag=None)
        if self.state.first_file:
            self.write()

    def publish(self, *, final: bool) -> None:
        """Upload what is durable to the store, if there is one. Raises NotLandedError."""
        if self._published is not None:
            self._published.publish(self._home, self.state, final=final)

    def write(self) -> None:
        """Write the state unchanged."""
        self.state = write_state(self._home, self.state)

    def end_turn(self) -> CaptureState:
        """End a server's turn: record and upload everything landed of it; return the state.

        Raises DamagedFolderError, NotLandedError.
        """
        landed = self._folder.recover(self.state.durable, own=bool(self.state.first_file))
        if landed is not None:
            end = landed.end
            self.state = replace(self.state, file=end.file, position=end.position)
        self.publish(final=True)
        return self.state

    def continue_in(self, folder: LandedFolder, state: CaptureState) -> None:
        """Continue with another server's log in a folder of its own."""
        self._folder, self.state = folder, state
        self._timestamp = 0
        self.write()

    def _measure(self) -> None:
        durable, server = self.state.durable, self._log_end
        if durable is None or server is None:
            self.state = replace(self.state, lag=None)
            return
        remaining = bytes_after(self._logs, durable)
        self.state = replace(
            self.state,
            server_file=server.position.file,
            server_position=server.position.position,
            lag=Lag(
                seconds=self._lag_seconds(server) if remaining else 0.0,
                bytes=remaining,
                transactions=server.transactions_after(self.state.gtid),
            ),
        )

    def _lag_seconds(self, server: LogEnd) -> float | None:
        """Return the age of the last landed event; both times are of the server's clock."""
        if not self._timestamp:
            return None
        return max(0.0, server.time + time.monotonic() - self._asked_at - self._timestamp)


def bytes_after(logs: Sequence[LogFile], end: LogPosition) -> int:
    """Return the bytes of the server's log after a position."""
    number = number_of(end.file)
    later = sum(log.size for log in logs if number_of(log.name) > number)
    own = sum(log.size - end.position for log in logs if log.name == end.file)
    return later + max(0, own)
