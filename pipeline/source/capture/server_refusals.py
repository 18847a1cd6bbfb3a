"""What it means when the server does not do what a capture asks of it."""

from __future__ import annotations

from pipeline.errors import BinlakeError
from pipeline.source.capture.errors import LostConnectionError
from pipeline.source.server.errors import AccessDeniedError
from pipeline.source.server.login import Login

_DENIED = (1044, 1045, 1142, 1227)
_GRANTS = (
    "Grant REPLICATION SLAVE and REPLICATION CLIENT (on MariaDB, REPLICATION SLAVE and BINLOG"
    " MONITOR) on *.*."
)


def code_of(error: Exception) -> int:
    """The server's, or PyMySQL's, number of an error; 0 where it has none."""
    return error.args[0] if error.args and isinstance(error.args[0], int) else 0


def explained(error: Exception, login: Login, asked: str) -> BinlakeError:
    """One of ours for an error of PyMySQL's, or of the socket's, at what was `asked`."""
    said = str(error.args[-1]).rstrip(".") if error.args else type(error).__name__
    if code_of(error) in _DENIED:
        named = {"address": login.address, "user": login.user}
        return AccessDeniedError(f"{asked} is refused: {said}.", remedy=_GRANTS, **named)
    return LostConnectionError(f"the connection to {login.address} is lost at {asked}: {said}.")
