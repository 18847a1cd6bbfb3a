"""Address, user and password of the source server, from settings, environment and password file.

In order of precedence:

- host, port: `--server` (`server.url`), BINLAKE_SERVER, `server.socket`, `server.host` and `.port`
- user: `--server`, BINLAKE_SERVER, `server.user`
- password: BINLAKE_SERVER_PASSWORD, BINLAKE_SERVER, `server.password_file`; otherwise empty

The password in BINLAKE_SERVER is only used for the host and user in the same URL.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass, field

from pydantic import SecretStr

from pipeline.errors import SettingsError
from pipeline.observe import redact
from pipeline.settings import Settings
from pipeline.settings.secret_file import first_line
from pipeline.settings.server import CONNECT_SECONDS, PORT, ServerSettings, ServerUrl, TlsSettings

URL_VARIABLE = "BINLAKE_SERVER"
PASSWORD_VARIABLE = "BINLAKE_SERVER_PASSWORD"
LOCAL = "localhost"


@dataclass(frozen=True, slots=True)
class Login:
    """Parameters of a connection; `connect_timeout` is in seconds.

    With a `socket`, `host` is only the name to verify in the certificate.
    """

    host: str
    user: str
    port: int = PORT
    socket: str | None = None
    password: SecretStr = field(default=SecretStr(""))
    tls: TlsSettings = field(default_factory=TlsSettings)
    connect_timeout: float = CONNECT_SECONDS

    @property
    def address(self) -> str:
        """The socket or host:port, for messages."""
        if self.socket is not None:
            return self.socket
        return f"[{self.host}]:{self.port}" if ":" in self.host else f"{self.host}:{self.port}"


def login(settings: Settings, environment: Mapping[str, str] = os.environ) -> Login:
    """Return the login; from now on its password is redacted in all output.

    Raises SettingsError if no host or user is set, or the password cannot be read.
    """
    server = settings.server
    url = ServerUrl.read(server.url) if server.url is not None else None
    outside = _from_environment(environment)
    place = _place(server, url or outside)
    user = _user(server, url, outside)
    password = _password(server, (place, user), outside, environment)
    redact.learn([password])
    host, port, socket = place
    secret = SecretStr(password)
    return Login(host, user, port, socket, secret, server.tls, server.connect_timeout)


def _from_environment(environment: Mapping[str, str]) -> ServerUrl | None:
    given = environment.get(URL_VARIABLE)
    if not given:
        return None
    try:
        url = ServerUrl.read(given)
    except ValueError as error:
        raise SettingsError(f"{error}.", key=URL_VARIABLE) from None
    if url.password is not None:
        # Redacted even if it turns out not to be used.
        redact.learn([url.password.get_secret_value()])
    return url


def _place(server: ServerSettings, url: ServerUrl | None) -> tuple[str, int, str | None]:
    """Return host, port and socket."""
    if url is not None:
        return url.host, url.port, None
    if server.socket is not None:
        return server.host or LOCAL, server.port, server.socket
    if not server.host:
        remedy = (
            f"Give --server mysql://user@host:port, {URL_VARIABLE} in the environment,"
            " or server: {host: …} in the file of --conf."
        )
        raise SettingsError("is not set.", key="server.host", remedy=remedy)
    return server.host, server.port, None


def _user(server: ServerSettings, url: ServerUrl | None, outside: ServerUrl | None) -> str:
    for user in (url and url.user, outside and outside.user, server.user):
        if user:
            return user
    remedy = "Give it in --server mysql://user@host:port, or server: {user: …} in the settings."
    raise SettingsError("is not set.", key="server.user", remedy=remedy)


def _password(
    server: ServerSettings,
    used: tuple[tuple[str, int, str | None], str],
    outside: ServerUrl | None,
    environment: Mapping[str, str],
) -> str:
    if (given := environment.get(PASSWORD_VARIABLE)) is not None:
        return given
    if (
        outside is not None
        and outside.password is not None
        and used == ((outside.host, outside.port, None), outside.user or server.user)
    ):
        return outside.password.get_secret_value()
    if server.password_file is None:
        return ""
    return first_line(server.password_file, key="server.password_file")
