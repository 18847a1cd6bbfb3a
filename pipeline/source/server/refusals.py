"""Refusals of a server: its error codes, and the texts that end a dump, with cause and remedy.

Sources: https://dev.mysql.com/doc/mysql-errors/9.7/en/server-error-reference.html,
https://mariadb.com/kb/en/mariadb-error-codes/; of dumps, MySQL's `sql/rpl_binlog_sender.cc` and
MariaDB's `sql/sql_repl.cc`, whose texts differ.
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


class Refusal(NamedTuple):
    """What an error code means, and what to do."""

    kind: type[ServerError]
    cause: str
    remedy: str


class DumpEnd(NamedTuple):
    """A text with which a server ends a dump, what it means, and what to do."""

    text: re.Pattern[str]
    cause: str
    remedy: str


_LOGIN = (
    "Look at the password (server.password_file, BINLAKE_SERVER_PASSWORD), and at the user on the"
    " server (SHOW CREATE USER): for which hosts it is, with which authentication plugin, and"
    " whether it REQUIREs X509 (server.tls.cert)."
)
_PLUGIN = (
    "Let the user have another: ALTER USER … IDENTIFIED WITH caching_sha2_password BY …"
    " (mysql_native_password on MariaDB)."
)
_GRANT = "Grant the user what it needs: binlake check says what."
_EXPIRED = Refusal(
    AccessDeniedError,
    "The user's password has expired.",
    "Give the user a new password: ALTER USER … IDENTIFIED BY ….",
)
_LOCKED = Refusal(
    AccessDeniedError, "The account is locked.", "Unlock it: ALTER USER … ACCOUNT UNLOCK."
)
_MISSING_GRANT = Refusal(AccessDeniedError, "The user lacks a privilege.", _GRANT)
_NO_PLUGIN = Refusal(
    AccessDeniedError,
    "The user's authentication plugin is none that the server has, or that Binlake speaks.",
    _PLUGIN,
)
_CONNECTIONS_OF_A_USER = Refusal(
    ServerUnreachableError,
    "The user has as many connections, or statements in an hour, as it may: capture needs two"
    " connections at a time, seed one more than seed.parallel, others one.",
    "End others of this user, run it again later, or raise the limit: ALTER USER … WITH"
    " MAX_USER_CONNECTIONS … (or max_user_connections of the server).",
)

TLS_REMEDY = (
    "Look at server.tls: mode, and ca, the file of the authority that signed the server's"
    " certificate."
)

BY_CODE: Mapping[int, Refusal] = MappingProxyType(
    {
        1040: Refusal(
            ServerUnreachableError,
            "The server has as many connections as it may.",
            "Run it again later, or raise max_connections.",
        ),
        1044: _MISSING_GRANT,
        1045: Refusal(
            AccessDeniedError, "The server has no such user, or another password of it.", _LOGIN
        ),
        1053: Refusal(
            ServerUnreachableError,
            "The server is being shut down.",
            "Run it again once the server is up.",
        ),
        1129: Refusal(
            ServerUnreachableError,
            "Too many connections of this host were broken off before their login"
            " (max_connect_errors).",
            "Let the server forget them: TRUNCATE TABLE performance_schema.host_cache on MySQL,"
            " FLUSH HOSTS on MariaDB. Then look for what connects and leaves, as a health check.",
        ),
        1130: Refusal(
            AccessDeniedError,
            "No user of the server is for the host that Binlake runs on.",
            "Create the user for that host: CREATE USER …@'HOST'.",
        ),
        1142: _MISSING_GRANT,
        1203: _CONNECTIONS_OF_A_USER,
        1205: Refusal(
            ServerUnreachableError,
            "Somebody's statement has kept tables for long.",
            "Run it again when that is over.",
        ),
        1226: _CONNECTIONS_OF_A_USER,
        1227: _MISSING_GRANT,
        1251: _NO_PLUGIN,
        1317: Refusal(
            ServerUnreachableError, "Somebody has stopped the statement.", "Run it again."
        ),
        1524: _NO_PLUGIN,
        1698: Refusal(
            AccessDeniedError,
            "The user logs in by a plugin without a password (unix_socket, auth_socket), from"
            " another account of the machine.",
            _PLUGIN,
        ),
        1820: _EXPIRED,
        1862: _EXPIRED,
        1969: Refusal(
            ServerError,
            "The statement took longer than it may.",
            "Raise max_statement_time for the user.",
        ),
        2026: Refusal(TlsError, "The two sides cannot agree on TLS.", TLS_REMEDY),
        2059: _NO_PLUGIN,
        3024: Refusal(
            ServerError,
            "The statement took longer than it may.",
            "Raise max_execution_time for the user.",
        ),
        3118: _LOCKED,
        3159: Refusal(
            TlsError,
            "The server takes nobody in without TLS (require_secure_transport).",
            "Set server.tls.mode to required, or to one that verifies.",
        ),
        3955: Refusal(
            AccessDeniedError,
            "The account is locked after too many logins with a wrong password.",
            "Unlock it: ALTER USER … ACCOUNT UNLOCK. Then give the right password.",
        ),
        4151: _LOCKED,
    }
)
"""By the code of the server, or of PyMySQL."""

WITHOUT_TLS = Refusal(
    AccessDeniedError,
    "The server has no such user, or another password of it; or the user REQUIREs SSL: the server"
    " says the same then, and server.tls.mode is disabled.",
    f"Set server.tls.mode to required if the user REQUIREs SSL (SHOW CREATE USER). Else: {_LOGIN}",
)
"""1045 on a connection that is not encrypted."""

_DAMAGED = (
    "The server's own file is damaged: its error log says more. Capture from a replica that has the"
    " log, or take what is behind with capture.purged: continue once the file is purged."
)

DUMP_ENDS: tuple[DumpEnd, ...] = (
    DumpEnd(
        re.compile(r"could not find first log file name|purged binary logs|has been purged", re.I),
        "The server has not got the file any more that it was asked for: it was purged, or the log"
        " was begun anew.",
        "Run it again: what was lost is named, and what can be done.",
    ),
    DumpEnd(
        re.compile(r"position > file size|impossible position", re.I),
        "The server's file is shorter than what is landed of it: it lost its tail in a crash"
        " (sync_binlog is not 1), or is of another log.",
        "Look at the server's error log. To go on with what the server has now, give capture.to"
        " another folder.",
    ),
    DumpEnd(
        re.compile(r"exceeded max_allowed_packet", re.I),
        "An event is larger than the server's max_allowed_packet, or it was not asked for where an"
        " event begins.",
        "Raise max_allowed_packet on the server (up to 1 GiB), and run it again.",
    ),
    DumpEnd(
        re.compile(r"can ?not handle replication events with the checksum", re.I),
        "The server does not take a capture for one that knows checksums: something between, as a"
        " proxy, did not pass on what the session was set to.",
        "Connect to the server itself.",
    ),
    DumpEnd(
        re.compile(r"binary log is not open", re.I),
        "The server writes no binary log.",
        "Start it with log_bin (MySQL 8 and newer log unless skip-log-bin is set).",
    ),
    DumpEnd(
        re.compile(r"server[_-]id was not set|misconfigured (?:master|source)", re.I),
        "The server has no server_id, without which it sends its log to nobody.",
        "Set one that no other server has: SET PERSIST server_id = … (an option file on MariaDB).",
    ),
    DumpEnd(
        re.compile(r"could not find next log", re.I),
        "A file is missing in the middle of the server's log: it was removed by hand.",
        "Restore it in the server's folder, or purge what is before it (PURGE BINARY LOGS TO …) and"
        " set capture.purged: continue.",
    ),
    DumpEnd(
        re.compile(r"truncated in the middle|bogus data|crc check|error reading", re.I),
        "The server cannot read its own log.",
        _DAMAGED,
    ),
)
"""By what the server says as it ends a dump, mostly under one code (1236)."""

SAME_IDENTITY = re.compile(r"with the same server_(?:uuid/server_)?id", re.I)
"""MySQL's text under 1236, MariaDB's under 4052."""
_UNKNOWN_END = DumpEnd(
    re.compile(""), "", "Look at the server's error log, and at the settings under capture."
)


def dump_end(message: str) -> DumpEnd:
    """The meaning of an error that ends a dump."""
    return next((known for known in DUMP_ENDS if known.text.search(message)), _UNKNOWN_END)
