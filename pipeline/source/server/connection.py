"""Connections to the source server, through PyMySQL.

TLS mode `required` depends on PyMySQL 1.2: earlier releases continue in plain text if the server
does not support TLS. Passwords are only sent by caching_sha2_password and mysql_native_password: a
request for a cleartext password is refused.

Source: https://dev.mysql.com/doc/dev/mysql-server/latest/page_protocol_connection_phase.html
"""

from __future__ import annotations

import ssl
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from functools import cache, partial
from typing import TYPE_CHECKING, Any, NoReturn, TypeVar, cast

from pipeline.errors import SettingsError
from pipeline.settings.server import ALWAYS, VERIFYING, TlsSettings
from pipeline.source.server.connect_timeout import (
    NotOpenedError,
    StopOpening,
    StoppedError,
    notice_lost_network,
    open_within,
)
from pipeline.source.server.errors import (
    AccessDeniedError,
    ServerError,
    ServerUnreachableError,
    TlsError,
)
from pipeline.source.server.login import Login
from pipeline.source.server.refusals import BY_CODE, TLS_REMEDY, WITHOUT_TLS

if TYPE_CHECKING:
    from pymysql.connections import Connection

Loaded = TypeVar("Loaded")

ANSWER_SECONDS = 60
"""Default read and write timeout of statements; overridden by options of `connect`."""

CLEAR_TEXT_PLUGINS = ("mysql_clear_password", "dialog", "mysql_old_password")
"""Authentication plugins with which PyMySQL would send a cleartext or weakly obscured password."""


class ClearTextRefusedError(Exception):
    """The server requested a cleartext password."""


class _Refusal:
    """Authentication plugin that refuses to send the password."""

    def __init__(self, connection: Connection[Any]) -> None:
        del connection

    def authenticate(self, packet: object) -> NoReturn:
        """Raise ClearTextRefusedError."""
        del packet
        raise ClearTextRefusedError


def connect(login: Login, *, stop: StopOpening | None = None, **options: Any) -> Connection[Any]:
    """Open a connection with utf8mb4, autocommit and timeouts; PyMySQL's `options` override these.

    Opening takes at most the login's `connect_timeout`; `stop` ends that wait, and every later one
    on the connection.

    Raises ServerUnreachableError, AccessDeniedError or TlsError, and SettingsError for files of
    `server.tls` that cannot be used.
    """
    from pymysql.err import MySQLError

    # Longer than the overall limit, whose error names the setting: these must not expire first.
    patience = login.connect_timeout + 1
    given: dict[str, Any] = {
        "host": login.host,
        "port": login.port,
        "unix_socket": login.socket,
        "user": login.user,
        # As bytes: the server stores the hash of the UTF-8 form, PyMySQL would encode as Latin 1.
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
        connection = _connection_type()(**given)
        open_within(connection, login.connect_timeout, stop)
        notice_lost_network(connection)
        _wait_for_answers(connection, options)
        return connection
    except ClearTextRefusedError:
        problem: ServerError = AccessDeniedError(
            "the server requested a cleartext password; the login was refused and nothing sent.",
            address=login.address,
            user=login.user,
            remedy="Switch the user to another authentication plugin: ALTER USER"
            f" {login.user!r} IDENTIFIED WITH caching_sha2_password BY … (mysql_native_password on"
            " MariaDB).",
        )
    except NotOpenedError as error:
        problem = _not_in_time(login, reached=error.reached)
    except StoppedError:
        problem = ServerUnreachableError(
            "connecting was interrupted.", address=login.address, user=login.user
        )
    except (MySQLError, OSError, RuntimeError) as error:
        # PyMySQL raises RuntimeError if the package cryptography is missing.
        problem = _explained(error, login)
    # Raised outside of the handler: PyMySQL's error, which may quote secrets, is not chained.
    raise problem


@cache
def _connection_type() -> type[Connection[Any]]:
    """Return PyMySQL's connection, which for the mode `preferred` would read all of the machine's
    certificates (20 ms) and verify nothing."""
    from pymysql.connections import Connection

    def context(_: object, options: ssl.SSLContext | Mapping[str, str]) -> ssl.SSLContext:
        return options if isinstance(options, ssl.SSLContext) else _unverified()

    return type("Opened", (Connection,), {"_create_ssl_ctx": context})


def _wait_for_answers(connection: Connection[Any], options: Mapping[str, Any]) -> None:
    """Replace the login's timeouts by those of statements; PyMySQL reads them at each answer."""
    waits = cast(Any, connection)
    waits._read_timeout = options.get("read_timeout", ANSWER_SECONDS)
    waits._write_timeout = options.get("write_timeout", ANSWER_SECONDS)


def _not_in_time(login: Login, *, reached: bool) -> ServerUnreachableError:
    named = {"address": login.address, "user": login.user}
    seconds = f"{login.connect_timeout:g} s"
    if reached:
        return ServerUnreachableError(
            f"the connection was accepted, but the login did not finish within {seconds}"
            " (server.connect_timeout).",
            remedy="Check whether the server hangs (its error log, a full disk), whether it speaks"
            " MySQL's protocol, and whether a proxy in between has lost it.",
            **named,
        )
    return ServerUnreachableError(
        f"no answer within {seconds} (server.connect_timeout).",
        remedy="Check server.host and server.port, name resolution, and whether a firewall drops"
        " packets.",
        **named,
    )


@contextmanager
def explained_errors(login: Login) -> Iterator[None]:
    """Translate PyMySQL's errors in the block.

    Raises ServerUnreachableError or AccessDeniedError, and ServerError if a statement fails.
    """
    import pymysql

    problem: ServerError | None = None
    try:
        yield
    except pymysql.MySQLError as error:
        problem = _failed_statement(error, login)
    if problem is not None:
        raise problem


def queried(connection: Connection[Any], statement: str, *values: str) -> list[tuple[Any, ...]]:
    """Run a statement and return its rows. Raises PyMySQL's errors."""
    with connection.cursor() as cursor:
        # None instead of (): PyMySQL then leaves percent signs in the statement alone.
        cursor.execute(statement, values or None)
        return list(cursor.fetchall())


def _tls_options(tls: TlsSettings) -> Mapping[str, Any]:
    """Return PyMySQL's options for a TLS mode; with none it uses TLS if the server supports it."""
    if tls.mode == "disabled":
        return {"ssl_disabled": True}
    return {"ssl": _context(tls)} if tls.mode in ALWAYS else {}


def _context(tls: TlsSettings) -> ssl.SSLContext:
    if tls.mode in VERIFYING:
        context = _loaded("ca", tls.ca, partial(ssl.create_default_context, cafile=tls.ca))
        # MySQL's auto-generated certificates lack fields that Python 3.13 requires by default.
        context.verify_flags &= ~ssl.VERIFY_X509_STRICT
        context.check_hostname = tls.mode == "verify_identity"
    else:
        context = _unverified()
    if tls.cert is not None:
        _loaded("cert", tls.cert, partial(context.load_cert_chain, tls.cert, tls.key, _passphrase))
    return context


def _unverified() -> ssl.SSLContext:
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    context.check_hostname = False
    context.verify_mode = ssl.CERT_NONE
    return context


_PEM_REMEDY = (
    "Give PEM files that this user can read; a key must be unencrypted and belong to the"
    " certificate."
)


def _passphrase() -> str:
    """Raise ValueError; without a callback OpenSSL would prompt on the terminal."""
    raise ValueError("its private key is encrypted with a passphrase")


def _loaded(key: str, file: str | None, load: Callable[[], Loaded]) -> Loaded:
    try:
        return load()
    except ssl.SSLError as error:
        reason = f"{file} cannot be used: {error.reason or 'it is not a PEM file'}."
        raise SettingsError(reason, key=f"server.tls.{key}", remedy=_PEM_REMEDY) from error
    except (OSError, ValueError) as error:
        why = error.strerror if isinstance(error, OSError) else str(error)
        reason = f"{file} cannot be read: {why}."
        raise SettingsError(reason, key=f"server.tls.{key}", remedy=_PEM_REMEDY) from error


_OLD_TLS = frozenset({"UNSUPPORTED_PROTOCOL", "WRONG_VERSION_NUMBER"})
"""OpenSSL's reasons for MySQL 5.6 and MariaDB 10.2, whose TLS library (yaSSL) ends at TLS 1.1."""
_OLD_TLS_REMEDY = (
    "The server may not support TLS 1.2, the minimum version: on a network that you trust, set"
    " server.tls.mode to disabled."
)

_ACCESS_DENIED = 1045
LOST_CONNECTION_CODES = frozenset({2006, 2013, 2055, 1927})
"""Error codes of a lost connection."""


_CUT_OFF = (ssl.SSLEOFError, ssl.SSLZeroReturnError, ssl.SSLSyscallError)
"""TLS errors of a connection that ended: a network failure, or a server that shuts down."""


def _explained(error: Exception, login: Login) -> ServerError:
    """Translate an error that PyMySQL raised while connecting."""
    cause = getattr(error, "original_exception", error)
    named = {"address": login.address, "user": login.user}
    if isinstance(cause, _CUT_OFF):
        remedy = "Check the network in between, and run again."
        reason = "the connection was lost during the TLS handshake."
        return ServerUnreachableError(reason, remedy=remedy, **named)
    if isinstance(cause, ssl.SSLError):
        reason = getattr(cause, "verify_message", "") or cause.reason or "connection lost"
        remedy = _OLD_TLS_REMEDY if cause.reason in _OLD_TLS else TLS_REMEDY
        return TlsError(f"the TLS handshake failed: {reason}.", remedy=remedy, **named)
    code = code_of(error)
    if code in BY_CODE:
        without_tls = code == _ACCESS_DENIED and login.tls.mode == "disabled"
        kind, why, remedy = WITHOUT_TLS if without_tls else BY_CODE[code]
        return kind(f"{_text(error)}. {why}", remedy=remedy, **named)
    if isinstance(cause, OSError):
        remedy = "Check server.host, server.port, that the server runs, and the network in between."
        reason = cause.strerror or str(cause)
        return ServerUnreachableError(f"cannot connect: {reason}.", remedy=remedy, **named)
    remedy = "Check the server's error log, and run it again."
    return ServerUnreachableError(f"the login failed: {_text(error)}.", remedy=remedy, **named)


def _failed_statement(error: Exception, login: Login) -> ServerError:
    named = {"address": login.address, "user": login.user}
    code = code_of(error)
    if code in LOST_CONNECTION_CODES:
        remedy = "Run it again once the server can be reached."
        reason = f"the connection was lost: {_text(error)}."
        return ServerUnreachableError(reason, remedy=remedy, **named)
    if code in BY_CODE:
        return _explained(error, login)
    remedy = "Check the server's error log, and whether Binlake supports the server's version."
    return ServerError(f"a statement failed: {_text(error)}.", remedy=remedy, **named)


def code_of(error: Exception) -> int:
    """Return the error code of the server or of PyMySQL; 0 if it has none."""
    return error.args[0] if error.args and isinstance(error.args[0], int) else 0


def _text(error: Exception) -> str:
    """Return the error's message without its code."""
    return str(error.args[-1]).rstrip(". ") if error.args else type(error).__name__
