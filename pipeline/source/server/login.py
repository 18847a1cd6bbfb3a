"""Where the source server is and who logs in: settings, the environment and the password's file.

What says it, the first one wins:

- host, port: `--server` (`server.url`), BINLAKE_SERVER, `server.socket`, `server.host` and `.port`
- user: `--server`, BINLAKE_SERVER, `server.user`
- password: BINLAKE_SERVER_PASSWORD, BINLAKE_SERVER, `server.password_file`; none is an empty one

The password in BINLAKE_SERVER is for its own host and user, and counts for no others.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

from pydantic import SecretStr

from pipeline.errors import SettingsError
from pipeline.observe import redact
from pipeline.settings import Settings
from pipeline.settings.server import CONNECT_SECONDS, PORT, ServerSettings, ServerUrl, TlsSettings

URL_VARIABLE = "BINLAKE_SERVER"
PASSWORD_VARIABLE = "BINLAKE_SERVER_PASSWORD"
LOCAL = "localhost"


@dataclass(frozen=True, slots=True)
class Login:
    """What a connection is made with, within `connect_timeout` seconds. With a `socket`, `host` is
    only the name to verify."""

    host: str
    user: str
    port: int = PORT
    socket: str | None = None
    password: SecretStr = field(default=SecretStr(""))
    tls: TlsSettings = field(default_factory=TlsSettings)
    connect_timeout: float = CONNECT_SECONDS

    @property
    def address(self) -> str:
        """Where that is, to be read by people: the socket, or host:port."""
        if self.socket is not None:
            return self.socket
        return f"[{self.host}]:{self.port}" if ":" in self.host else f"{self.host}:{self.port}"


def login(settings: Settings, environment: Mapping[str, str] = os.environ) -> Login:
    """Who logs in where. The password is redacted from now on.

    Raises SettingsError where nothing names a host or a user, or the password cannot be read.
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
        # Though it may turn out not to be used.
        redact.learn([url.password.get_secret_value()])
    return url


def _place(server: ServerSettings, url: ServerUrl | None) -> tuple[str, int, str | None]:
    """Host, port and socket."""
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
    for said in (url and url.user, outside and outside.user, server.user):
        if said:
            return said
    remedy = "Give it in --server mysql://user@host:port, or server: {user: …} in conf."
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
    return _first_line(server.password_file) if server.password_file is not None else ""


def _first_line(file: str) -> str:
    key = "server.password_file"
    try:
        with Path(file).open(encoding="utf-8") as lines:
            line = lines.readline().rstrip("\r\n")
    except OSError as error:
        raise SettingsError(f"{file} cannot be read: {error.strerror}.", key=key) from error
    except UnicodeDecodeError:
        # Not chained: it quotes what it cannot read.
        raise SettingsError(f"{file} is not text in UTF-8.", key=key) from None
    if not line:
        remedy = "The password stands there; a user without one needs no file."
        raise SettingsError(f"{file} has nothing on its first line.", key=key, remedy=remedy)
    return line
