"""A connection to the source server, through PyMySQL.

`required` depends on PyMySQL 1.2: earlier ones go on in plain text where TLS was asked for and the
server has none. Passwords go to caching_sha2_password and mysql_native_password: a server that asks
for them in the clear gets nothing.

Source: https://dev.mysql.com/doc/dev/mysql-server/latest/page_protocol_connection_phase.html
"""

from __future__ import annotations

import ssl
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from functools import partial
from typing import TYPE_CHECKING, Any, NoReturn, TypeVar, cast

from pipeline.errors import SettingsError
from pipeline.settings.server import ALWAYS, VERIFYING, TlsSettings
from pipeline.source.server.errors import (
    AccessDeniedError,
    ServerError,
    ServerUnreachableError,
    TlsError,
)
from pipeline.source.server.login import Login
from pipeline.source.server.opening import (
    NotOpenedError,
    Stop,
    StoppedError,
    notice_lost_network,
    open_within,
)
from pipeline.source.server.refusals import BY_CODE, TLS_REMEDY, WITHOUT_TLS

if TYPE_CHECKING:
    from pymysql.connections import Connection

Loaded = TypeVar("Loaded")

ANSWER_SECONDS = 60
"""The longest that the server may be silent, and may take nothing; an option of `connect`."""

CLEAR_TEXT_PLUGINS = ("mysql_clear_password", "dialog", "mysql_old_password")
"""Authentication plugins to which PyMySQL would give the password as it is, or nearly so."""


class ClearTextRefusedError(Exception):
    """The server asked for the password in the clear."""


class _Refusal:
    """Stands for an authentication plugin that gets nothing."""

    def __init__(self, connection: Connection[Any]) -> None:
        del connection

    def authenticate(self, packet: object) -> NoReturn:
        """Raises ClearTextRefusedError."""
        del packet
        raise ClearTextRefusedError


def connect(login: Login, *, stop: Stop | None = None, **options: Any) -> Connection[Any]:
    """A connection with utf8mb4, autocommit and bounded waits; `options` are PyMySQL's, and win.

    It is there within the login's `connect_timeout`, or not at all; `stop` ends that wait, and
    every later one on the connection.

    Raises ServerUnreachableError, AccessDeniedError or TlsError, and SettingsError for files of
    `server.tls` that cannot be used.
    """
    from pymysql.connections import Connection as Opened
    from pymysql.err import MySQLError

    # A silent server is told by the limit of all, which names it, and not by one of these.
    patience = login.connect_timeout + 1
    given: dict[str, Any] = {
        "host": login.host,
        "port": login.port,
        "unix_socket": login.socket,
        "user": login.user,
        # As bytes: the server keeps the hash of UTF-8, PyMySQL would take Latin 1.
        "password": login.password.get_secret_value().encode(),
        "charset": "utf8mb4",
        "autocommit": True,
        "program_name": "binlake",
        "auth_plugin_map": dict.fromkeys(CLEAR_TEXT_PLUGINS, _Refusal),
        **_tls_options(login.tls),
        **options,
        "connect_timeout": patience,
        "read_timeout": patience,
        "write_timeout": patience,
        "defer_connect": True,
    }
    try:
        connection: Connection[Any] = Opened(**given)
        open_within(connection, login.connect_timeout, stop)
        notice_lost_network(connection)
        _wait_for_answers(connection, options)
        return connection
    except ClearTextRefusedError:
        problem: ServerError = AccessDeniedError(
            "the server asks for the password in the clear, and does not get it.",
            address=login.address,
            user=login.user,
            remedy=f"Let the user have another plugin: ALTER USER {login.user!r} IDENTIFIED WITH"
            " caching_sha2_password BY … (mysql_native_password on MariaDB).",
        )
    except NotOpenedError as error:
        problem = _not_in_time(login, reached=error.reached)
    except StoppedError:
        problem = ServerUnreachableError(
            "it was not waited for.", address=login.address, user=login.user
        )
    except (MySQLError, OSError, RuntimeError) as error:
        # RuntimeError: what PyMySQL raises where the package cryptography is missing.
        problem = _explained(error, login)
    # Outside of the handler: PyMySQL's own error is not chained, whatever it quotes.
    raise problem


def _wait_for_answers(connection: Connection[Any], options: Mapping[str, Any]) -> None:
    """From now on statements have time of their own: PyMySQL looks at these at each answer."""
    waits = cast(Any, connection)
    waits._read_timeout = options.get("read_timeout", ANSWER_SECONDS)
    waits._write_timeout = options.get("write_timeout", ANSWER_SECONDS)


def _not_in_time(login: Login, *, reached: bool) -> ServerUnreachableError:
    named = {"address": login.address, "user": login.user}
    seconds = f"{login.connect_timeout:g} s"
    if reached:
        return ServerUnreachableError(
            f"something takes the connection there, and no server lets anybody in within {seconds}"
            " (server.connect_timeout).",
            remedy="Look whether the server hangs (its error log, a full disk), whether it is one"
            " of MySQL at all, and whether a proxy between has lost it.",
            **named,
        )
    return ServerUnreachableError(
        f"nobody answers within {seconds} (server.connect_timeout).",
        remedy="Look at server.host and port, at the name server, and whether a firewall between"
        " drops packets.",
        **named,
    )


@contextmanager
def asked(login: Login) -> Iterator[None]:
    """What PyMySQL raises inside becomes one of ours: the server was asked, and does not answer.

    Raises ServerUnreachableError or AccessDeniedError, and for a statement that fails ServerError.
    """
    import pymysql

    problem: ServerError | None = None
    try:
        yield
    except pymysql.MySQLError as error:
        problem = _unanswered(error, login)
    if problem is not None:
        raise problem


def _tls_options(tls: TlsSettings) -> Mapping[str, Any]:
    """PyMySQL's options for a mode: without any it uses TLS where the server has it."""
    if tls.mode == "disabled":
        return {"ssl_disabled": True}
    return {"ssl": _context(tls)} if tls.mode in ALWAYS else {}


def _context(tls: TlsSettings) -> ssl.SSLContext:
    context = _loaded("ca", tls.ca, partial(ssl.create_default_context, cafile=tls.ca))
    # Certificates that MySQL makes by itself lack what Python 3.13 asks for by default.
    context.verify_flags &= ~ssl.VERIFY_X509_STRICT
    context.check_hostname = tls.mode == "verify_identity"
    if tls.mode not in VERIFYING:
        context.verify_mode = ssl.CERT_NONE
    if tls.cert is not None:
        _loaded("cert", tls.cert, partial(context.load_cert_chain, tls.cert, tls.key, _passphrase))
    return context


def _passphrase() -> str:
    """Else OpenSSL would ask for it on the terminal."""
    raise ValueError("is encrypted: give a key without a passphrase")


def _loaded(key: str, file: str | None, load: Callable[[], Loaded]) -> Loaded:
    try:
        return load()
    except ssl.SSLError as error:
        reason = f"{file} cannot be used: {error.reason or 'it is no PEM file'}."
        raise SettingsError(reason, key=f"server.tls.{key}") from error
    except (OSError, ValueError) as error:
        said = error.strerror if isinstance(error, OSError) else str(error)
        raise SettingsError(f"{file} cannot be read: {said}.", key=f"server.tls.{key}") from error


_OLD_TLS = frozenset({"UNSUPPORTED_PROTOCOL", "WRONG_VERSION_NUMBER"})
"""What OpenSSL says of MySQL 5.6 and MariaDB 10.2, whose TLS (yaSSL's) ends at 1.1."""
_OLD_TLS_REMEDY = (
    "The server's TLS may be older than 1.2, which is the least here: set server.tls.mode to"
    " disabled, on a network that you trust."
)

_ACCESS_DENIED = 1045
BROKEN_OFF = frozenset({2006, 2013, 2055, 1927})
"""Codes of a connection that is no more."""


_CUT_OFF = (ssl.SSLEOFError, ssl.SSLZeroReturnError, ssl.SSLSyscallError)
"""The connection ended, whatever TLS had to do with it: the network, or a server that goes down."""


def _explained(error: Exception, login: Login) -> ServerError:
    """One of ours, for what PyMySQL raised."""
    cause = getattr(error, "original_exception", error)
    named = {"address": login.address, "user": login.user}
    if isinstance(cause, _CUT_OFF):
        remedy = "Look at what is between, and run it again."
        reason = "the connection was cut off as TLS began."
        return ServerUnreachableError(reason, remedy=remedy, **named)
    if isinstance(cause, ssl.SSLError):
        said = getattr(cause, "verify_message", "") or cause.reason or "it broke off"
        remedy = _OLD_TLS_REMEDY if cause.reason in _OLD_TLS else TLS_REMEDY
        return TlsError(f"there is no TLS with the server: {said}.", remedy=remedy, **named)
    code = error.args[0] if error.args and isinstance(error.args[0], int) else 0
    if code in BY_CODE:
        without_tls = code == _ACCESS_DENIED and login.tls.mode == "disabled"
        kind, why, remedy = WITHOUT_TLS if without_tls else BY_CODE[code]
        return kind(f"{_said(error)}. {why}", remedy=remedy, **named)
    if isinstance(cause, OSError):
        remedy = "Look at server.host and port, whether the server runs, and what is between."
        said = cause.strerror or str(cause)
        return ServerUnreachableError(f"nobody answers: {said}.", remedy=remedy, **named)
    remedy = "Look at the server's error log, and run it again."
    return ServerUnreachableError(f"the login broke off: {_said(error)}.", remedy=remedy, **named)


def _unanswered(error: Exception, login: Login) -> ServerError:
    named = {"address": login.address, "user": login.user}
    code = error.args[0] if error.args and isinstance(error.args[0], int) else 0
    if code in BROKEN_OFF:
        remedy = "Run it again once the server is reached."
        reason = f"the connection broke off: {_said(error)}."
        return ServerUnreachableError(reason, remedy=remedy, **named)
    if code in BY_CODE:
        return _explained(error, login)
    remedy = "Look at the server's error log, and whether this version is one that Binlake knows."
    return ServerError(f"a statement failed: {_said(error)}.", remedy=remedy, **named)


def _said(error: Exception) -> str:
    """The error's text, without its number."""
    return str(error.args[-1]).rstrip(". ") if error.args else type(error).__name__
