"""A proxy to a server that closes each connection after a number of bytes."""

from __future__ import annotations

import socket
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field

_CHUNK = 1 << 14


@dataclass
class CutNetwork:
    """Listens on `port`; `cuts` counts the connections it has closed."""

    to: int
    after: int
    cuts: int = 0
    listener: socket.socket = field(default_factory=lambda: socket.create_server(("127.0.0.1", 0)))

    @property
    def port(self) -> int:
        """Return the port on 127.0.0.1."""
        return int(self.listener.getsockname()[1])

    def serve(self) -> None:
        """Accept connections until the listener is closed."""
        with suppress(OSError):
            while True:
                client, _ = self.listener.accept()
                server = socket.create_connection(("127.0.0.1", self.to))
                threading.Thread(
                    target=self._pass, args=(client, server, None), daemon=True
                ).start()
                threading.Thread(
                    target=self._pass, args=(server, client, self.after), daemon=True
                ).start()

    def _pass(self, source: socket.socket, target: socket.socket, left: int | None) -> None:
        with suppress(OSError):
            while left is None or left > 0:
                data = source.recv(_CHUNK if left is None else min(_CHUNK, left))
                if not data:
                    break
                target.sendall(data)
                left = None if left is None else left - len(data)
            self.cuts += left == 0
        for end in (source, target):
            with suppress(OSError):
                end.shutdown(socket.SHUT_RDWR)


@contextmanager
def cut_network(to: int, after: int) -> Iterator[CutNetwork]:
    """Start a proxy to the local port `to` that passes `after` bytes of each connection."""
    network = CutNetwork(to, after)
    threading.Thread(target=network.serve, daemon=True).start()
    try:
        yield network
    finally:
        network.listener.close()
