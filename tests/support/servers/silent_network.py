"""A network that turns into a black hole: a proxy that stops forwarding, but closes nothing.

Neither end notices: connections stay open, new ones are accepted, and no byte arrives.
"""

from __future__ import annotations

import socket
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field

_CHUNK = 1 << 14


@dataclass
class SilentNetwork:
    """Listens on `port` and forwards to `to`, except between `swallow` and `heal`.

    With `after`, it forwards at most that many bytes of the server for each connection; the rest is
    lost. `taken` counts the connections accepted while swallowing.
    """

    to: int
    after: int | None = None
    taken: int = 0
    listener: socket.socket = field(default_factory=lambda: socket.create_server(("127.0.0.1", 0)))
    _open: threading.Event = field(default_factory=threading.Event)
    _sockets: list[socket.socket] = field(default_factory=list)

    @property
    def port(self) -> int:
        """Return the port on 127.0.0.1."""
        return int(self.listener.getsockname()[1])

    def swallow(self) -> None:
        """Stop forwarding."""
        self._open.clear()

    def heal(self) -> None:
        """Forward on connections made from now on."""
        self._open.set()

    def serve(self) -> None:
        """Accept connections until the listener is closed."""
        self.heal()
        with suppress(OSError):
            while True:
                client, _ = self.listener.accept()
                self._sockets.append(client)
                if not self._open.is_set():
                    self.taken += 1
                    continue
                server = socket.create_connection(("127.0.0.1", self.to))
                self._sockets.append(server)
                for ends in ((client, server, None), (server, client, self.after)):
                    threading.Thread(target=self._pass, args=ends, daemon=True).start()

    def close(self) -> None:
        """Close the proxy and all connections."""
        for one in (self.listener, *self._sockets):
            one.close()

    def _pass(self, source: socket.socket, target: socket.socket, left: int | None) -> None:
        with suppress(OSError):
            while data := source.recv(_CHUNK):
                if not self._open.is_set():
                    return
                target.sendall(data[:left])
                left = None if left is None else left - len(data)
                if left is not None and left <= 0:
                    return
            target.shutdown(socket.SHUT_RDWR)


@contextmanager
def silent_network(to: int = 0, after: int | None = None) -> Iterator[SilentNetwork]:
    """Start a proxy to the local port `to`; without one, it swallows everything from the start."""
    network = SilentNetwork(to, after)
    threading.Thread(target=network.serve, daemon=True).start()
    network._open.wait(10)
    if not to:
        network.swallow()
    try:
        yield network
    finally:
        network.close()


@contextmanager
def full_listener() -> Iterator[int]:
    """Listen on a port that accepts no connection, as if a firewall dropped packets.

    The backlog of its socket is full.
    """
    with socket.socket() as listener, socket.socket() as first, socket.socket() as second:
        listener.bind(("127.0.0.1", 0))
        listener.listen(0)
        for waiting in (first, second):
            waiting.setblocking(False)
            with suppress(BlockingIOError):
                waiting.connect(listener.getsockname())
        yield int(listener.getsockname()[1])
