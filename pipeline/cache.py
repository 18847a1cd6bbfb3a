"""Where things that can be made again are kept on this machine."""

from __future__ import annotations

import os
import sys
from pathlib import Path


def cache_folder(name: str) -> Path:
    """The folder `name` in $BINLAKE_CACHE, or else in the user's cache folder; made if missing."""
    folder = _root() / name
    folder.mkdir(parents=True, exist_ok=True)
    return folder


def _root() -> Path:
    if given := os.environ.get("BINLAKE_CACHE"):
        return Path(given).expanduser().absolute()
    if sys.platform == "darwin":
        return Path.home() / "Library" / "Caches" / "binlake"
    return Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "binlake"
