"""Where things that can be made again are kept on this machine."""

from __future__ import annotations

import os
from pathlib import Path


def cache_folder(name: str) -> Path:
    """The folder `name` in $BINLAKE_CACHE, or else in the user's cache folder; made if missing."""
    folder = _root() / name
    folder.mkdir(parents=True, exist_ok=True)
    return folder


def _root() -> Path:
    given = os.environ.get("BINLAKE_CACHE")
    if given:
        return Path(given).expanduser().absolute()
    return Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "binlake"
