"""MySQL's programs: those that BINLAKE_MYSQLD points at, or MySQL 9.7 installed in `.cache/mysql`.

Installed are packages of Debian's "sid" suite: about 65 MB to download, once.
"""

from __future__ import annotations

from functools import lru_cache

from tests.support.servers.installation import (
    CACHE as ALL,
    Installation,
    installed,
    pointed_at,
    why_not,
)

CACHE = ALL / "mysql"
PACKAGES = ("mysql-server-core", "mysql-client-core")


def why_unavailable() -> str | None:
    """None if there is a server, installed now if need be; else the reason."""
    reason = why_not(installation)
    return reason and f"no MySQL server: {reason}; BINLAKE_MYSQLD can point at a mysqld"


@lru_cache(maxsize=1)
def installation() -> Installation:
    """The programs to use. Raises UnavailableError."""
    given = pointed_at("BINLAKE_MYSQLD")
    return given or installed(CACHE / "root", "sid", PACKAGES, "usr/sbin/mysqld")
