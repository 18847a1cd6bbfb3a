"""MySQL's programs: those at BINLAKE_MYSQLD, or MySQL 9.7 installed in `.cache/mysql`.

The packages are those of Debian's "sid" suite: about 65 MB of downloads, once.
"""

from __future__ import annotations

from functools import lru_cache

from tests.support.programs.installation import (
    CACHE as ALL,
    Installation,
    from_environment,
    installed,
    why_unavailable_from,
)

CACHE = ALL / "mysql"
PACKAGES = ("mysql-server-core", "mysql-client-core")


def why_unavailable() -> str | None:
    """Return None if the server is installed, if necessary now, else why it cannot be."""
    reason = why_unavailable_from(installation)
    return reason and f"no MySQL server: {reason}; BINLAKE_MYSQLD can point at a mysqld"


@lru_cache(maxsize=1)
def installation() -> Installation:
    """Return the programs to use. Raises UnavailableError."""
    given = from_environment("BINLAKE_MYSQLD")
    return given or installed(CACHE / "root", "sid", PACKAGES, "usr/sbin/mysqld")
