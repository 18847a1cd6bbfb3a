"""When what is landed becomes durable, and what the state says then."""

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
from pipeline.source.capture.log_position import LogPosition, number_of
from pipeline.source.capture.object_store import Published
from pipeline.source.capture.source import LogEnd, LogFile, Source
from pipeline.source.capture.state import CaptureState, Lag, write_state
from pipeline.source.server.errors import ServerError

ASK_SECONDS = 5.0
"""The server is asked no more often where its log ends."""


class Checkpoints:
    """Keeps `state` as the landed files go on, and writes it behind them: into `home`, which is the
    landed folder or the one that it is in."""

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
        """Bytes were landed, of which `new` were not there before."""
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
        """Whether it is time for the next."""
        return self._bytes >= self._settings.bytes or (self._bytes > 0 and self.seconds_left <= 0)

    @property
    def seconds_left(self) -> float:
        """Until what is landed has waited long enough; never less than zero."""
        return max(0.0, self._last + self._settings.seconds - time.monotonic())

    def make(self) -> LogPosition | None:
        """Make durable what is landed, and write that down: up to where."""
        end = self._folder.make_durable()
        self._bytes, self._last = 0, time.monotonic()
        if end is not None:
            self.state = replace(self.state, file=end.file, position=end.position)
        self._measure()
        self.write()
        return end

    def ask(self, source: Source, *, final: bool = False) -> None:
        """Let the state say where the server's log ends, which is asked every few seconds, or now
        (`final`)."""
        if not final and time.monotonic() - self._asked_at < ASK_SECONDS:
            return
        # Where it cannot be asked, nothing is known of how far this is behind.
        self._logs, self._log_end = (), None
        with suppress(LostConnectionError, ServerError):
            self._logs, self._log_end = source.logs(), source.end()
        # Counted from the answer: a server that is slow to give it is not asked all the time.
        self._asked_at = time.monotonic()
        self._measure()
        self.write()

    def lost(self, why: str) -> None:
        """The server does not answer: how far it is ahead is not known until it does again."""
        self._logs, self._log_end = (), None
        reconnects = self.state.reconnects + 1
        self.state = replace(self.state, reconnects=reconnects, last_error=why, lag=None)
        if self.state.first_file:
            self.write()

    def publish(self, *, final: bool) -> None:
        """Let the store, where there is one, have what is durable. Raises NotLandedError."""
        if self._published is not None:
            self._published.publish(self._home, self.state, final=final)

    def write(self) -> None:
        """Write the state as it is."""
        self.state = write_state(self._home, self.state)

    def end_turn(self) -> CaptureState:
        """Nothing more comes of a server: all that is landed of it counts, and the store has it.

        Raises DamagedFolderError, NotLandedError.
        """
        landed = self._folder.recover(self.state.durable, own=bool(self.state.first_file))
        if landed is not None:
            end = landed.end
            self.state = replace(self.state, file=end.file, position=end.position)
        self.publish(final=True)
        return self.state

    def go_on_in(self, folder: LandedFolder, state: CaptureState) -> None:
        """Another server's log is landed from now on, in a folder of its own."""
        self._folder, self.state = folder, state
        self._timestamp = 0
        self.write()

    def _measure(self) -> None:
        durable, told = self.state.durable, self._log_end
        if durable is None or told is None:
            self.state = replace(self.state, lag=None)
            return
        behind = bytes_behind(self._logs, durable)
        self.state = replace(
            self.state,
            server_file=told.position.file,
            server_position=told.position.position,
            lag=Lag(
                seconds=self._seconds_behind(told) if behind else 0.0,
                bytes=behind,
                transactions=told.transactions_behind(self.state.gtid),
            ),
        )

    def _seconds_behind(self, told: LogEnd) -> float | None:
        """Since the last landed event was written. Both times are of the server's clock."""
        if not self._timestamp:
            return None
        return max(0.0, told.time + time.monotonic() - self._asked_at - self._timestamp)


def bytes_behind(logs: Sequence[LogFile], end: LogPosition) -> int:
    """Bytes of the server's log that are behind a position."""
    number = number_of(end.file)
    later = sum(log.size for log in logs if number_of(log.name) > number)
    own = sum(log.size - end.position for log in logs if log.name == end.file)
    return later + max(0, own)
