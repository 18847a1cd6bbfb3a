"""MariaDB's programs, of the releases in Debian's suites, installed in `.cache/mariadb`.

About 30 MB of downloads for each release, once.
"""

from __future__ import annotations

from functools import cache

from tests.support.programs.installation import (
    CACHE as ALL,
    Installation,
    from_environment,
    installed,
    why_unavailable_from,
)

CACHE = ALL / "mariadb"
PACKAGES = ("mariadb-server-core", "mariadb-client-core", "mariadb-client")
STABLE, NEWEST = "bookworm", "sid"
"""The suites with MariaDB 10.11 and with the newest one (11.8 when this was written)."""


def why_unavailable(suite: str = STABLE) -> str | None:
    """Return None if the server is installed, if necessary now, else why it cannot be."""
    reason = why_unavailable_from(lambda: installation(suite))
    return reason and f"no MariaDB server: {reason}; BINLAKE_MARIADBD can point at a mariadbd"


@cache
def installation(suite: str = STABLE) -> Installation:
    """Return the programs to use. Raises UnavailableError."""
    given = from_environment("BINLAKE_MARIADBD")
    return given or installed(CACHE / suite, suite, PACKAGES, "usr/sbin/mariadbd")


def why_newest_unavailable() -> str | None:
    """Return the same for the newest release."""
    return why_unavailable(NEWEST)
