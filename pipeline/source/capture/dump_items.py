"""What a dump tells, one thing after the other: bytes of log files, and what is about them."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class FileNamed:
    """What follows is of `file`, from `position` on."""

    file: str
    position: int


@dataclass(frozen=True, slots=True)
class LogBytes:
    """Bytes of a log file, from `position` on.

    `whole`: up to where they are whole events whose place in the file is certain; None where there
    is no such. `events` and `transactions` are those that end, or
    begin, in them; `timestamp` the last event's, in seconds since 1970; `gtid` the last GTID among
    them. `ended`: the last event is one that closes a file. `asked`: the server waits for an
    acknowledgement of them.
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
        """The position behind them."""
        return self.position + len(self.data)


@dataclass(frozen=True, slots=True)
class Heartbeat:
    """The server had nothing to send: its log ends where it is at."""


@dataclass(frozen=True, slots=True)
class LogEnded:
    """The server has sent all it has, and was not to wait for more."""


Received = FileNamed | LogBytes | Heartbeat | LogEnded
