"""Settings of the source server itself: where it is, who logs in, and how the way is protected.

No password is among them: it comes from a file or from the environment
(`pipeline.source.server.login`).
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Annotated, Any, Literal
from urllib.parse import unquote, urlsplit

from pydantic import AfterValidator, ConfigDict, Field, SecretStr, model_validator

from pipeline.settings.model import Model
from pipeline.settings.values import LocalPath

PORT = 3306
CONNECT_SECONDS = 10.0
SCHEMES = frozenset({"mysql", "mariadb"})
FORM = "mysql://user@host:3306"
THE_SERVER = "server"
"""What stands for the server that settings or the environment name, where its URL may stand."""

TlsMode = Literal["disabled", "preferred", "required", "verify_ca", "verify_identity"]
VERIFYING: frozenset[TlsMode] = frozenset({"verify_ca", "verify_identity"})
"""Modes in which the server's certificate is looked at."""
ALWAYS: frozenset[TlsMode] = VERIFYING | {"required"}
"""Modes in which there is no connection without TLS."""


@dataclass(frozen=True, slots=True)
class ServerUrl:
    """`mysql://user:password@host:port`, taken apart; user and password may be missing."""

    host: str
    port: int = PORT
    user: str | None = None
    password: SecretStr | None = field(default=None)

    @classmethod
    def read(cls, url: str) -> ServerUrl:
        """The parts of a URL, whose user and password are percent-encoded. A schema is passed over.

        Raises ValueError, whose text has nothing of the URL: it may hold a password.
        """
        try:
            parts = urlsplit(url)
            host, port = parts.hostname, parts.port
        except ValueError:
            # Not chained: the text of urllib's quotes what it cannot read.
            raise ValueError(_wrong_form()) from None
        if parts.scheme not in SCHEMES or not host:
            raise ValueError(_wrong_form())
        # A password whose slash, ? or # is not encoded ends the host before its @: what then looks
        # like host and port are the user and the beginning of the password.
        behind = parts.path + parts.query + parts.fragment
        if "@" in behind or "/" in parts.path.strip("/"):
            raise ValueError(_wrong_form())
        if parts.query or parts.fragment:
            raise ValueError(f"has more behind the port than {FORM}: TLS is set in server.tls")
        password = None if parts.password is None else SecretStr(unquote(parts.password))
        user = unquote(parts.username) if parts.username else None
        return cls(unquote(host), PORT if port is None else port, user, password)


def _wrong_form() -> str:
    return f"is no URL such as {FORM} (what is special in it is percent-encoded)"


def _without_password(url: str | None) -> str | None:
    if url is not None and ServerUrl.read(url).password is not None:
        raise ValueError(
            "holds a password, which the process list would show: give it as"
            " server.password_file, or in the environment as BINLAKE_SERVER_PASSWORD"
        )
    return url


class TlsSettings(Model):
    """How the connection is protected, in MySQL's own terms (`--ssl-mode`).

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
        """A file that no mode looks at would be a protection that is not there."""
        if self.ca is not None and self.mode not in VERIFYING:
            raise ValueError(f"ca counts with mode verify_ca or verify_identity, not {self.mode}")
        if self.cert is not None and self.mode not in ALWAYS:
            raise ValueError(f"cert needs mode required or one that verifies, not {self.mode}")
        if self.key is not None and self.cert is None:
            raise ValueError("key is that of cert, which is not given")
        return self


class ServerSettings(Model):
    """Where the source server answers, and who logs in."""

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
    """Whether that is a server's URL, and not a file."""
    return text.partition("://")[0] in SCHEMES


def with_url(section: Any, url: str) -> Any:
    """The section `server` of a settings file, with the URL of the command line in it.

    What is no section stays what it is, for validation to refuse.
    """
    if section is None:
        return {"url": url}
    return {**section, "url": url} if isinstance(section, Mapping) else section
