"""mydumper, of Debian's "sid" suite: a few MB to download, once."""

from __future__ import annotations

from functools import lru_cache

from tests.support.programs.installation import (
    CACHE as ALL,
    Installation,
    installed,
    why_unavailable_from,
)

CACHE = ALL / "mydumper"


def why_unavailable() -> str | None:
    """Return None if mydumper is installed, if necessary now, else why it cannot be."""
    reason = why_unavailable_from(installation)
    return reason and f"no mydumper: {reason}"


@lru_cache(maxsize=1)
def installation() -> Installation:
    """Return the program to use. Raises UnavailableError."""
    return installed(CACHE / "root", "sid", ("mydumper",), "usr/bin/mydumper")
