"""Cause and remedy for a server's error codes and for the messages that end a binlog dump.

Sources: https://dev.mysql.com/doc/mysql-errors/9.7/en/server-error-reference.html,
https://mariadb.com/kb/en/mariadb-error-codes/; for dumps, MySQL's `sql/rpl_binlog_sender.cc` and
MariaDB's `sql/sql_repl.cc`, whose messages differ.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from types import MappingProxyType
from typing import NamedTuple

from pipeline.source.server.errors import (
    AccessDeniedError,
    ServerError,
    ServerUnreachableError,
    TlsError,
)


class ServerRefusal(NamedTuple):
    """Exception class, cause and remedy for an error code."""

    kind: type[ServerError]
    cause: str
    remedy: str


class DumpEnd(NamedTuple):
    """Pattern of a message that ends a dump, with cause and remedy."""

    text: re.Pattern[str]
    cause: str
    remedy: str


_LOGIN = (
    "Check the password (server.password_file, BINLAKE_SERVER_PASSWORD) and the user on the server"
    " (SHOW CREATE USER): its host, its authentication plugin, and whether it REQUIREs X509"
    " (server.tls.cert)."
)
_PLUGIN = (
    "Switch the user to another plugin: ALTER USER … IDENTIFIED WITH caching_sha2_password BY …"
    " (mysql_native_password on MariaDB)."
)
_GRANT = "Grant the missing privileges: binlake check lists them."
_EXPIRED = ServerRefusal(
    AccessDeniedError,
    "The user's password has expired.",
    "Give the user a new password: ALTER USER … IDENTIFIED BY ….",
)
_LOCKED = ServerRefusal(
    AccessDeniedError, "The account is locked.", "Unlock it: ALTER USER … ACCOUNT UNLOCK."
)
_MISSING_GRANT = ServerRefusal(AccessDeniedError, "The user lacks a privilege.", _GRANT)
_NO_PLUGIN = ServerRefusal(
    AccessDeniedError,
    "The server or Binlake does not support the user's authentication plugin.",
    _PLUGIN,
)
_CONNECTIONS_OF_A_USER = ServerRefusal(
    ServerUnreachableError,
    "The user has reached its limit of connections, or of statements per hour: capture needs two"
    " connections at a time, seed one more than seed.parallel, other commands one.",
    "Close other connections of this user, run it again later, or raise the limit: ALTER USER …"
    " WITH MAX_USER_CONNECTIONS … (or the server's max_user_connections).",
)

TLS_REMEDY = (
    "Check server.tls.mode, and server.tls.ca, the certificate file of the authority that signed"
    " the server's certificate."
)

BY_CODE: Mapping[int, ServerRefusal] = MappingProxyType(
    {
        1040: ServerRefusal(
            ServerUnreachableError,
            "The server has reached its limit of connections.",
            "Run it again later, or raise max_connections.",
        ),
        1044: _MISSING_GRANT,
        1045: ServerRefusal(
            AccessDeniedError, "The user does not exist, or the password is wrong.", _LOGIN
        ),
        1053: ServerRefusal(
            ServerUnreachableError,
            "The server is being shut down.",
            "Run it again once the server is up.",
        ),
        1129: ServerRefusal(
            ServerUnreachableError,
            "Too many connections from this host were interrupted before their login"
            " (max_connect_errors).",
            "Unblock the host: TRUNCATE TABLE performance_schema.host_cache on MySQL, FLUSH HOSTS"
            " on MariaDB. Then find what connects without logging in, such as a health check.",
        ),
        1130: ServerRefusal(
            AccessDeniedError,
            "The server has no user for the host that Binlake runs on.",
            "Create the user for that host: CREATE USER …@'HOST'.",
        ),
        1142: _MISSING_GRANT,
        1203: _CONNECTIONS_OF_A_USER,
        1205: ServerRefusal(
            ServerUnreachableError,
            "Another session holds a lock on the tables.",
            "Run it again when the lock is released.",
        ),
        1226: _CONNECTIONS_OF_A_USER,
        1227: _MISSING_GRANT,
        1251: _NO_PLUGIN,
        1317: ServerRefusal(
            ServerUnreachableError, "Another session killed the statement.", "Run it again."
        ),
        1524: _NO_PLUGIN,
        1698: ServerRefusal(
            AccessDeniedError,
            "The user's plugin (unix_socket, auth_socket) takes no password, but expects another"
            " operating system account.",
            _PLUGIN,
        ),
        1820: _EXPIRED,
        1862: _EXPIRED,
        1969: ServerRefusal(
            ServerError,
            "The statement exceeded its time limit.",
            "Raise max_statement_time for the user.",
        ),
        2026: ServerRefusal(TlsError, "The TLS handshake failed.", TLS_REMEDY),
        2059: _NO_PLUGIN,
        3024: ServerRefusal(
            ServerError,
            "The statement exceeded its time limit.",
            "Raise max_execution_time for the user.",
        ),
        3118: _LOCKED,
        3159: ServerRefusal(
            TlsError,
            "The server requires TLS (require_secure_transport).",
            "Set server.tls.mode to required, or to one that verifies.",
        ),
        3955: ServerRefusal(
            AccessDeniedError,
            "The account is locked after too many logins with a wrong password.",
            "Unlock it: ALTER USER … ACCOUNT UNLOCK. Then set the right password.",
        ),
        4151: _LOCKED,
    }
)
"""By error code of the server or of PyMySQL."""

WITHOUT_TLS = ServerRefusal(
    AccessDeniedError,
    "The user does not exist, the password is wrong, or the user REQUIREs SSL, for which the server"
    " returns the same error, and server.tls.mode is disabled.",
    "If the user REQUIREs SSL (SHOW CREATE USER), set server.tls.mode to required. Otherwise:"
    f" {_LOGIN}",
)
"""Error 1045 on an unencrypted connection."""

_DAMAGED = (
    "The server's log file is damaged; see its error log. Capture from a replica that has the log,"
    " or purge the file and continue after it with capture.purged: continue."
)

DUMP_ENDS: tuple[DumpEnd, ...] = (
    DumpEnd(
        re.compile(r"could not find first log file name|purged binary logs|has been purged", re.I),
        "The server no longer has the requested file: it was purged, or the log was reset.",
        "Run it again: the error then names what is lost and what to do.",
    ),
    DumpEnd(
        re.compile(r"position > file size|impossible position", re.I),
        "The server's file is shorter than the landed one: it lost its tail in a crash (sync_binlog"
        " is not 1), or belongs to another log.",
        "Check the server's error log. To continue with what the server has now, set capture.to to"
        " another folder.",
    ),
    DumpEnd(
        re.compile(r"exceeded max_allowed_packet", re.I),
        "An event is larger than the server's max_allowed_packet, or the requested position is not"
        " the start of an event.",
        "Raise max_allowed_packet on the server (up to 1 GiB), and run it again.",
    ),
    DumpEnd(
        re.compile(r"can ?not handle replication events with the checksum", re.I),
        "The server assumes that the capture cannot read checksums: something in between, such as a"
        " proxy, dropped the session's variables.",
        "Connect to the server directly.",
    ),
    DumpEnd(
        re.compile(r"binary log is not open", re.I),
        "The server writes no binary log.",
        "Start it with log_bin (MySQL 8 and newer log unless skip-log-bin is set).",
    ),
    DumpEnd(
        re.compile(r"server[_-]id was not set|misconfigured (?:master|source)", re.I),
        "The server has no server_id, and sends its log to no replica without one.",
        "Set a unique one: SET PERSIST server_id = … (in an option file on MariaDB).",
    ),
    DumpEnd(
        re.compile(r"could not find next log", re.I),
        "A file is missing in the middle of the server's log: it was removed by hand.",
        "Restore it in the server's data directory, or purge the files before it (PURGE BINARY LOGS"
        " TO …) and set capture.purged: continue.",
    ),
    DumpEnd(
        re.compile(r"truncated in the middle|bogus data|crc check|error reading", re.I),
        "The server cannot read its own log.",
        _DAMAGED,
    ),
)
"""By the message with which the server ends a dump, mostly with error code 1236."""

SAME_IDENTITY = re.compile(r"with the same server_(?:uuid/server_)?id", re.I)
"""MySQL's message of error 1236, MariaDB's of 4052."""
_UNKNOWN_END = DumpEnd(
    re.compile(""), "", "Check the server's error log, and the settings under capture."
)


def dump_end(message: str) -> DumpEnd:
    """Return cause and remedy of an error that ends a dump."""
    return next((known for known in DUMP_ENDS if known.text.search(message)), _UNKNOWN_END)
