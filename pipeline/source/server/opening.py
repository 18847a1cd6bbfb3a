"""Opening a connection within a time limit, and ending every wait for a server at once.

A thread of its own opens it: a name that does not resolve, a host that drops packets, a greeting, a
TLS handshake or a login that never comes each block in a call of their own, and not all of these
end at a signal. Whoever asked waits for the thread no longer than the limit, and leaves it behind.
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
"""Seconds after which a wait looks whether it is to stop."""

KEEPALIVE = (("TCP_KEEPIDLE", 30), ("TCP_KEEPINTVL", 10), ("TCP_KEEPCNT", 3))
"""A network that swallows packets ends a connection after a minute, however long the answer may
take: the server's kernel acknowledges probes while a statement runs."""
UNACKNOWLEDGED_MILLISECONDS = 60_000
"""So long what was sent may stay without an acknowledgement."""


class NotOpenedError(Exception):
    """The connection was not there in time; `reached`: something at the address took it."""

    def __init__(self, *, reached: bool) -> None:
        super().__init__(reached)
        self.reached = reached


class StoppedError(Exception):
    """Whoever asked for the connection is to stop."""


class Stop:
    """Ends waits for a server: open connections are cut, and no further one is opened."""

    def __init__(self) -> None:
        self.wanted = False
        self._connections: tuple[Connection[Any], ...] = ()

    def now(self) -> None:
        """Stop. Callable from any thread, and from a signal's handler."""
        # No lock: a signal's handler runs in the thread that may hold it.
        self.wanted = True
        for connection in self._connections:
            cut_off(connection)

    def cover(self, connection: Connection[Any]) -> None:
        """Cut this connection too, when it is to stop."""
        in_use = (known for known in self._connections if known.open)
        self._connections = (*in_use, connection)
        if self.wanted:
            cut_off(connection)


def open_within(connection: Connection[Any], seconds: float, stop: Stop | None = None) -> None:
    """Open a deferred connection, from resolving its host's name to the end of its login.

    Raises NotOpenedError after so many seconds, StoppedError, and what opening it raises.
    """
    opening: Future[None] = Future()
    threading.Thread(target=_open, args=(connection, opening), name="connect", daemon=True).start()
    try:
        _wait_for(opening, connection, time.monotonic() + seconds, stop)
    except BaseException:  # an interrupt too
        cut_off(connection)
        opening.add_done_callback(lambda _: _close(connection))
        raise
    if stop is not None:
        stop.cover(connection)


def cut_off(connection: Connection[Any]) -> None:
    """Let whoever waits for an answer on it end with an error. Any thread."""
    with suppress(OSError, TypeError):
        # Not as TLS's sockets do it, which then read what is encrypted as if it were an answer.
        socket.socket.shutdown(cast(Any, connection)._sock, socket.SHUT_RDWR)


def notice_lost_network(connection: Connection[Any]) -> None:
    """Let the kernel end it where the network between is gone, as far as the system can."""
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
    opening: Future[None], connection: Connection[Any], until: float, stop: Stop | None
) -> None:
    while not opening.done():
        left = until - time.monotonic()
        if stop is not None and stop.wanted:
            raise StoppedError
        if left <= 0:
            raise NotOpenedError(reached=cast(Any, connection)._sock is not None)
        wait((opening,), min(left, NAP))
    opening.result()


def _close(connection: Connection[Any]) -> None:
    cast(Any, connection)._force_close()
