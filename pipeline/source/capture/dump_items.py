"""The items that a dump consists of: file names, bytes of log files, heartbeats, the end."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class FileNamed:
    """The following bytes belong to `file`, from `position` on."""

    file: str
    position: int


@dataclass(frozen=True, slots=True)
class LogBytes:
    """Bytes of a log file, from `position` on.

    `whole`: the position up to which they are whole events whose position in the file is certain;
    None if there are none. `events` and `transactions` count those that end or begin in them;
    `timestamp` is the last event's, in seconds since 1970; `gtid` the last GTID among them.
    `ended`: the last event closes a file. `asked`: the server waits for an acknowledgement of them.
    """

    data: memoryview
    position: int
    whole: int | None
    events: int
    transactions: int
    timestamp: int
    gtid: str | None = None
    ended: bool = False
    asked: bool = False

    @property
    def end(self) -> int:
        """The position after them."""
        return self.position + len(self.data)


@dataclass(frozen=True, slots=True)
class Heartbeat:
    """The server has nothing to send: the dump has reached the log's end."""


@dataclass(frozen=True, slots=True)
class LogEnded:
    """The server has sent everything and, as requested, does not wait for more."""


Received = FileNamed | LogBytes | Heartbeat | LogEnded
