"""Variables as servers of various versions report them, without such servers.

Each version has its own variables, with recommended values. Sources: for MySQL 5.7 and 8.0
mysql-test/r/mysqld--help-notwin.result of 5.7.18 and 8.0.41; for 8.4 what
https://dev.mysql.com/doc/mysqld-version-reference/en/ lists of 8.2, 8.3 and 8.4 up to the letter h
(8.2 removed expire_logs_days); for MariaDB 10.3 the variables that
https://mariadb.com/docs/server/ref/mdb/system-variables/ lists as MariaDB's own
(binlog_row_metadata was added in 10.5, binlog_expire_logs_seconds in 10.6). The rest, and how old
versions spell values, is from memory of the manuals. tests/integration/source/test_check.py queries
9.7, 10.11 and the newest MariaDB themselves.
"""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime, timezone
from typing import Any

from pipeline.source.check.facts import CheckedTable, LogFilter, ServerFacts
from pipeline.source.check.granted_privileges import Privileges
from pipeline.source.server.version import ServerVersion

_ALL = {
    "log_bin": "ON",
    "server_id": "7",
    "binlog_format": "ROW",
    "binlog_row_image": "FULL",
    "binlog_checksum": "CRC32",
    "lower_case_table_names": "0",
    "character_set_server": "latin1",
}
_MYSQL_57 = {**_ALL, "gtid_mode": "ON", "enforce_gtid_consistency": "ON", "expire_logs_days": "0"}
_MYSQL_80 = {
    **_MYSQL_57,
    "binlog_row_metadata": "FULL",
    "binlog_row_value_options": "",
    "binlog_expire_logs_seconds": "2592000",
    "binlog_expire_logs_auto_purge": "ON",
    "binlog_transaction_compression": "OFF",
    "binlog_encryption": "OFF",
    "character_set_server": "utf8mb4",
}
_MYSQL_84 = {name: value for name, value in _MYSQL_80.items() if name != "expire_logs_days"}
_MARIADB_103 = {
    **_ALL,
    "gtid_strict_mode": "ON",
    "expire_logs_days": "0",
    "log_bin_compress": "OFF",
    "encrypt_binlog": "OFF",
}
_MARIADB_1011 = {
    **_MARIADB_103,
    "binlog_row_metadata": "FULL",
    "expire_logs_days": "0.000000",
    "binlog_expire_logs_seconds": "0",
}

VARIABLES: Mapping[str, Mapping[str, str]] = {
    "5.6.51-log": {**_MYSQL_57, "log_slave_updates": "ON"},
    "5.7.44-log": _MYSQL_57,
    "8.0.45": _MYSQL_80,
    "8.4.7": _MYSQL_84,
    "9.7.0": {**_MYSQL_84, "innodb_native_foreign_keys": "OFF"},
    "10.3.39-MariaDB": _MARIADB_103,
    "10.11.14-MariaDB": _MARIADB_1011,
    "11.8.3-MariaDB": {**_MARIADB_1011, "max_binlog_total_size": "0"},
}

EVERYTHING = "GRANT ALL PRIVILEGES ON *.* TO `binlake`@`%`"


def made_facts(
    version: str, variables: Mapping[str, str | None] | None = None, **others: Any
) -> ServerFacts:
    """Return a well-configured server of a version, with `variables` changed (None: missing)."""
    changed = {**VARIABLES[version], **(variables or {})}
    facts: dict[str, Any] = {
        "version": ServerVersion.read(version),
        "variables": {name: value for name, value in changed.items() if value is not None},
        "user": "binlake@%",
        "privileges": Privileges.read([EVERYTHING]),
        "at": datetime(2026, 7, 1, tzinfo=timezone.utc),
        "log_filter": LogFilter(),
        "tables": (CheckedTable("shop", "orders"),),
        **others,
    }
    return ServerFacts(**facts)
