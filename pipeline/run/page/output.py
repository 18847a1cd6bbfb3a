"""Write a page to a local file, or to an object of a store."""

from __future__ import annotations

import uuid
from contextlib import suppress
from os.path import expanduser
from typing import Any

from pipeline.errors import SettingsError
from pipeline.lake.stores import ASIDE, filesystem_of, sentences

_KEY = "html"


def require_file(place: str) -> None:
    """Raise SettingsError if a page cannot be a file there, UnreachableError if the store fails."""
    filesystem, path = _of(place)
    with sentences(place, key=_KEY):
        is_folder = filesystem.isdir(path)
    if is_folder or place.endswith("/"):
        raise SettingsError(
            f"{place} is a folder.", key=_KEY, remedy="Name a file in it, such as lake.html."
        )


def write_page(place: str, text: str) -> int:
    """Write a page and return its size in bytes: readers see the previous one, or all of this one,
    also if several processes write it at once.

    Its folder is created. Raises UnreachableError.
    """
    content = text.encode()
    filesystem, path = _of(place)
    aside = f"{path}.{uuid.uuid4().hex}{ASIDE}"
    with sentences(place, key=_KEY):
        filesystem.makedirs(path.rpartition("/")[0], exist_ok=True)
        try:
            filesystem.pipe_file(aside, content)
            filesystem.mv(aside, path)
        except BaseException:
            with suppress(Exception):
                filesystem.rm_file(aside)
            raise
    return len(content)


def _of(place: str) -> tuple[Any, str]:
    return filesystem_of(expanduser(place), key=_KEY)
