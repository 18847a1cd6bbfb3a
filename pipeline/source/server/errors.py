"""What keeps Binlake from the source server. No text here ever holds a password."""

from __future__ import annotations

from pipeline.errors import BinlakeError


class ServerError(BinlakeError):
    """The source server does not do what it is asked; `address` (host:port or socket), `user`."""

    def __init__(self, reason: str, *, address: str, user: str, remedy: str = "") -> None:
        super().__init__(reason, remedy=remedy)
        self.address = address
        self.user = user

    def __str__(self) -> str:
        return f"{self.user} at {self.address}: {super().__str__()}"


class ServerUnreachableError(ServerError):
    """Nobody answers there, or the server takes nobody in at the moment."""

    retryable = True


class AccessDeniedError(ServerError):
    """The server does not let this user in, or not to what was asked."""


class TlsError(ServerError):
    """The connection would not be protected as `server.tls` asks for it."""
