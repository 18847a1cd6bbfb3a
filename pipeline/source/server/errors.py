"""Errors of connections to the source server. Their messages never contain a password."""

from __future__ import annotations

from pipeline.errors import BinlakeError


class ServerError(BinlakeError):
    """The source server failed or refused a request of `user`; `address`: host:port or socket."""

    def __init__(self, reason: str, *, address: str, user: str, remedy: str = "") -> None:
        super().__init__(reason, remedy=remedy)
        self.address = address
        self.user = user

    def __str__(self) -> str:
        return f"{self.user} at {self.address}: {super().__str__()}"


class ServerUnreachableError(ServerError):
    """The server does not answer, or does not accept connections at the moment."""

    retryable = True


class AccessDeniedError(ServerError):
    """The login was refused, or the user lacks a privilege."""


class TlsError(ServerError):
    """The connection would not be protected as `server.tls` requires."""
