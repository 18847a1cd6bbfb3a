"""Open a dump, detecting the program that wrote it."""

from __future__ import annotations

from collections.abc import Callable

from pipeline.lake.stores import filesystem_of, sentences
from pipeline.seed.dumps.feed import fed
from pipeline.seed.dumps.folder import folder
from pipeline.seed.dumps.model import Dump
from pipeline.seed.dumps.mydumper import METADATA, open_mydumper
from pipeline.seed.dumps.mysql_shell import MANIFEST, open_mysql_shell
from pipeline.seed.dumps.mysqldump import open_mysqldump
from pipeline.seed.errors import DumpError

_FOLDERS: dict[str, Callable[[str], Dump]] = {
    MANIFEST: open_mysql_shell,
    METADATA: open_mydumper,
}
"""The function that opens a folder containing this file."""
_BINARY = b"\0"
_HEAD = 1024


def open_dump(location: str) -> Dump:
    """Open the dump at a path or URL: a file of mysqldump or mariadb-dump, or a folder of MySQL
    Shell or mydumper. Raises DumpError, and UnreachableError for an unreachable store.

    CSV and Parquet files record neither definitions nor a position: see `given`.
    """
    filesystem, path = filesystem_of(location, key="seed")
    with sentences(location, key="seed"):
        is_folder = filesystem.isdir(path)
    if not is_folder:
        _require_text(location)
        return open_mysqldump(location)
    files = folder(location)
    for name, opened in _FOLDERS.items():
        if name in files:
            return opened(location)
    raise DumpError(
        location,
        f"it has neither {MANIFEST} nor {METADATA}, so it is not a dump of MySQL Shell or mydumper",
        remedy="Pass the folder that the dump program wrote, or the file of mysqldump.",
    )


def _require_text(location: str) -> None:
    with fed(location) as feed:
        if _BINARY in feed.ahead(_HEAD):
            raise DumpError(
                location,
                "it is a binary file, not a dump of mysqldump or mariadb-dump",
                remedy="Pass the file that mysqldump wrote, plain or compressed with gzip or zstd.",
            )
