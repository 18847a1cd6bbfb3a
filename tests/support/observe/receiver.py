"""A web server on this machine that keeps what is posted to it, for webhooks and lineage."""

from __future__ import annotations

import json
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any


@dataclass
class Receiver:
    """The server's URL, the requests so far, and what it answers from now on.

    `status`: of the answer; `location`: where a redirect leads; `pause`: seconds before it.
    """

    url: str = ""
    status: int = 200
    location: str = ""
    paused: threading.Event = field(default_factory=threading.Event)
    pause: float = 0
    paths: list[str] = field(default_factory=list)
    headers: list[dict[str, str]] = field(default_factory=list)
    bodies: list[Any] = field(default_factory=list)


@contextmanager
def receiver() -> Iterator[Receiver]:
    """Serve until the block ends."""
    kept = Receiver()

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            length = int(self.headers["Content-Length"])
            kept.bodies.append(json.loads(self.rfile.read(length)))
            kept.paths.append(self.path)
            kept.headers.append(dict(self.headers.items()))
            if kept.pause:
                kept.paused.wait(kept.pause)
            self.send_response(kept.status)
            if kept.location:
                self.send_header("Location", kept.location)
            self.send_header("Content-Length", "0")
            self.end_headers()

        def do_GET(self) -> None:
            kept.paths.append(f"GET {self.path}")
            self.send_error(405)

        def log_message(self, *_: Any) -> None:
            """Print nothing."""

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    kept.url = f"http://127.0.0.1:{server.server_address[1]}"
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
    thread.start()
    try:
        yield kept
    finally:
        kept.paused.set()
        server.shutdown()
        server.server_close()
        thread.join()
