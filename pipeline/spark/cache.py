"""The cache folder on this machine, for files that can be created again."""

from __future__ import annotations

import os
from pathlib import Path


def cache_folder(name: str) -> Path:
    """Return the folder `name` in $BINLAKE_CACHE, or in the user's cache; create it if needed."""
    folder = _root() / name
    folder.mkdir(parents=True, exist_ok=True)
    return folder


def _root() -> Path:
    given = os.environ.get("BINLAKE_CACHE")
    if given:
        return Path(given).expanduser().absolute()
    return Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "binlake"
