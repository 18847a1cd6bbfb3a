"""Opening a connection within a time limit, and interrupting every wait for a server.

Name resolution, the TCP connection, the greeting, the TLS handshake and the login block in calls of
their own, and not all of these end at a signal. So a separate thread opens the connection; the
caller waits for it until the limit, and then abandons it.
"""

from __future__ import annotations

import socket
import threading
import time
from concurrent.futures import Future, wait
from contextlib import suppress
from typing import TYPE_CHECKING, Any, cast

if TYPE_CHECKING:
    from pymysql.connections import Connection

NAP = 0.1
"""Seconds between checks for a stop request while waiting."""

KEEPALIVE = (("TCP_KEEPIDLE", 30), ("TCP_KEEPINTVL", 10), ("TCP_KEEPCNT", 3))
"""A network that drops packets ends a connection after a minute, however long a statement runs: the
server's kernel acknowledges probes in the meantime."""
UNACKNOWLEDGED_MILLISECONDS = 60_000
"""Longest time that sent data may remain unacknowledged."""


class NotOpenedError(Exception):
    """The connection was not opened in time; `reached`: the address accepted it."""

    def __init__(self, *, reached: bool) -> None:
        super().__init__(reached)
        self.reached = reached


class StoppedError(Exception):
    """A stop was requested while the connection was being opened."""


class StopOpening:
    """Stop request: shuts down open connections and prevents new ones."""

    def __init__(self) -> None:
        self.wanted = False
        self._connections: tuple[Connection[Any], ...] = ()

    def now(self) -> None:
        """Request the stop. Safe to call from any thread and from a signal handler."""
        # No lock: a signal handler may run in the thread that holds it.
        self.wanted = True
        for connection in self._connections:
            cut_off(connection)

    def rest(self, seconds: float) -> None:
        """Sleep until the time is over or a stop is requested."""
        until = time.monotonic() + seconds
        while not self.wanted and (left := until - time.monotonic()) > 0:
            time.sleep(min(left, NAP))

    def cover(self, connection: Connection[Any]) -> None:
        """Shut down this connection too when a stop is requested."""
        in_use = (known for known in self._connections if known.open)
        self._connections = (*in_use, connection)
        if self.wanted:
            cut_off(connection)


def open_within(
    connection: Connection[Any], seconds: float, stop: StopOpening | None = None
) -> None:
    """Open a deferred connection, from name resolution to the end of the login.

    Raises NotOpenedError after `seconds`, StoppedError, and what opening it raises.
    """
    opening: Future[None] = Future()
    threading.Thread(target=_open, args=(connection, opening), name="connect", daemon=True).start()
    try:
        _wait_for(opening, connection, time.monotonic() + seconds, stop)
    except BaseException:  # an interrupt too
        cut_off(connection)
        opening.add_done_callback(lambda _: cast(Any, connection)._force_close())
        raise
    if stop is not None:
        stop.cover(connection)


def cut_off(connection: Connection[Any]) -> None:
    """Shut down the connection so that a blocked reader fails. Safe to call from any thread."""
    with suppress(OSError, TypeError):
        # Not SSLSocket.shutdown, which drops TLS: a reader would take ciphertext for an answer.
        socket.socket.shutdown(cast(Any, connection)._sock, socket.SHUT_RDWR)


def notice_lost_network(connection: Connection[Any]) -> None:
    """Set TCP keepalive and TCP_USER_TIMEOUT, where available, to detect a lost network."""
    opened = cast(Any, connection)._sock
    if opened.family == socket.AF_UNIX:
        return
    for name, value in (*KEEPALIVE, ("TCP_USER_TIMEOUT", UNACKNOWLEDGED_MILLISECONDS)):
        if hasattr(socket, name):
            opened.setsockopt(socket.IPPROTO_TCP, getattr(socket, name), value)


def _open(connection: Connection[Any], opening: Future[None]) -> None:
    try:
        connection.connect()
    except BaseException as error:
        opening.set_exception(error)
    else:
        opening.set_result(None)


def _wait_for(
    opening: Future[None], connection: Connection[Any], until: float, stop: StopOpening | None
) -> None:
    while not opening.done():
        left = until - time.monotonic()
        if stop is not None and stop.wanted:
            raise StoppedError
        if left <= 0:
            raise NotOpenedError(reached=cast(Any, connection)._sock is not None)
        wait((opening,), min(left, NAP))
    opening.result()
