"""Translation of the server's errors during a capture."""

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
    """Return the error code of the server or of PyMySQL; 0 if it has none."""
    return error.args[0] if error.args and isinstance(error.args[0], int) else 0


def explained(error: Exception, login: Login, asked: str) -> BinlakeError:
    """Translate an error of PyMySQL or the socket; `asked`: the failed statement or command."""
    reason = str(error.args[-1]).rstrip(".") if error.args else type(error).__name__
    if code_of(error) in _DENIED:
        named = {"address": login.address, "user": login.user}
        return AccessDeniedError(f"{asked} was refused: {reason}.", remedy=_GRANTS, **named)
    return LostConnectionError(f"connection to {login.address} lost during {asked}: {reason}.")
