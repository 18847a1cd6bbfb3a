"""Settings of the connection to the source server: address, user and TLS.

They contain no password: it comes from a file or from the environment
(`pipeline.source.server.login`).
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Annotated, Any, Literal
from urllib.parse import unquote, urlsplit

from pydantic import AfterValidator, ConfigDict, Field, SecretStr, model_validator

from pipeline.settings.values import LocalPath, Model

PORT = 3306
CONNECT_SECONDS = 10.0
SCHEMES = frozenset({"mysql", "mariadb"})
FORM = "mysql://user@host:3306"
THE_SERVER = "server"
"""The word for the server of settings or environment, in place of its URL."""

TlsMode = Literal["disabled", "preferred", "required", "verify_ca", "verify_identity"]
VERIFYING: frozenset[TlsMode] = frozenset({"verify_ca", "verify_identity"})
"""Modes that verify the server's certificate."""
ALWAYS: frozenset[TlsMode] = VERIFYING | {"required"}
"""Modes that refuse a connection without TLS."""


@dataclass(frozen=True, slots=True)
class ServerUrl:
    """The parts of `mysql://user:password@host:port`; user and password are optional."""

    host: str
    port: int = PORT
    user: str | None = None
    password: SecretStr | None = field(default=None)

    @classmethod
    def read(cls, url: str) -> ServerUrl:
        """Parse a URL, whose user and password are percent-encoded; a schema in it is ignored.

        Raises ValueError, whose message does not quote the URL, which may contain a password.
        """
        try:
            parts = urlsplit(url)
            host, port = parts.hostname, parts.port
        except ValueError:
            # Not chained: urllib's message quotes the URL.
            raise ValueError(_wrong_form()) from None
        if parts.scheme not in SCHEMES or not host:
            raise ValueError(_wrong_form())
        # An unencoded /, ? or # in the password ends the authority before its @: then host and port
        # are in fact the user and the beginning of the password.
        after_authority = parts.path + parts.query + parts.fragment
        if "@" in after_authority or "/" in parts.path.strip("/"):
            raise ValueError(_wrong_form())
        if parts.query or parts.fragment:
            raise ValueError(f"has more after the port than {FORM}: set TLS in server.tls")
        password = None if parts.password is None else SecretStr(unquote(parts.password))
        user = unquote(parts.username) if parts.username else None
        return cls(unquote(host), PORT if port is None else port, user, password)


def _wrong_form() -> str:
    return f"is not a URL such as {FORM} (with special characters percent-encoded)"


def _without_password(url: str | None) -> str | None:
    if url is not None and ServerUrl.read(url).password is not None:
        raise ValueError(
            "contains a password, which the process list would show: set server.password_file, or"
            " BINLAKE_SERVER_PASSWORD in the environment"
        )
    return url


class TlsSettings(Model):
    """Protection of the connection, in MySQL's own terms (`--ssl-mode`).

    Source: https://dev.mysql.com/doc/refman/9.7/en/connection-options.html#option_general_ssl-mode
    """

    mode: TlsMode = "preferred"
    """`disabled`; `preferred`: TLS if the server has it; `required`: no connection without it;
    `verify_ca`: and its certificate is signed by `ca`; `verify_identity`: and it names the host."""
    ca: LocalPath | None = None
    """PEM file of the authority that signed the server's certificate. Unset: the machine's own."""
    cert: LocalPath | None = None
    """PEM file of the client's certificate, if the server asks for one."""
    key: LocalPath | None = None
    """PEM file of the key of `cert`."""

    @model_validator(mode="after")
    def _looked_at(self) -> TlsSettings:
        """Reject files that the mode ignores: they would suggest a protection that is not there."""
        if self.ca is not None and self.mode not in VERIFYING:
            raise ValueError(f"ca needs mode verify_ca or verify_identity, not {self.mode}")
        if self.cert is not None and self.mode not in ALWAYS:
            raise ValueError(
                f"cert needs mode required, verify_ca or verify_identity, not {self.mode}"
            )
        if self.key is not None and self.cert is None:
            raise ValueError("key needs cert, which is not set")
        return self


class ServerSettings(Model):
    """Address of the source server, and the user who logs in."""

    model_config = ConfigDict(hide_input_in_errors=True)

    url: Annotated[str | None, AfterValidator(_without_password)] = None
    """`mysql://user@host:port` (`--server`). Overrides the environment and the keys below. A
    password in it is refused."""
    host: str | None = None
    """The server's host, for the commands that connect to it."""
    port: Annotated[int, Field(ge=1, le=65535)] = PORT
    """The server's port."""
    socket: LocalPath | None = None
    """The path of the server's Unix socket; used instead of `host` and `port`."""
    user: str | None = None
    """The user who logs in."""
    password_file: LocalPath | None = None
    """The path of a file whose first line is the password. Settings never hold a password."""
    tls: TlsSettings = TlsSettings()
    connect_timeout: Annotated[float, Field(gt=0, le=3600)] = CONNECT_SECONDS
    """Seconds for everything before the first statement: name resolution, TCP, greeting, TLS and
    login. Statements may take longer."""


def is_server(text: str) -> bool:
    """Return True if a text is a server's URL, not a file."""
    return text.partition("://")[0] in SCHEMES


def with_url(section: Any, url: str) -> Any:
    """Return the `server` section of a settings file with the URL of the command line.

    A value that is not a section is returned unchanged, for validation to reject.
    """
    if section is None:
        return {"url": url}
    return {**section, "url": url} if isinstance(section, Mapping) else section
