"""The code that workers run is the driver's own, from wherever the driver has it.

spark-submit brings a wheel to its driver only: on workers PySpark looks into archives by the end of
their names, and `.whl` is none of those it knows. Where workers have Binlake of their own, as in an
image, it may be another version; what decodes must be what has planned.
"""

from __future__ import annotations

import tempfile
import zipfile
from collections.abc import Iterator
from functools import cache
from importlib.resources import files
from pathlib import Path
from typing import Any

from pyspark.sql import SparkSession

PACKAGES = ("decoder", "pipeline", "binlake")
NAME = "binlake-of-the-driver.zip"


def ship(spark: SparkSession) -> None:
    """Have every worker of the application import Binlake from an archive of what runs here."""
    if not on_this_machine(spark.sparkContext.master or ""):
        spark.sparkContext.addPyFile(str(Path(_folder().name) / NAME))


def on_this_machine(master: str) -> bool:
    """Whether workers are processes that the driver starts beside it, with its own paths."""
    return master.startswith("local") and not master.startswith("local-cluster")


@cache
def _folder() -> tempfile.TemporaryDirectory[str]:
    """A folder with the archive. Workers fetch it until the application ends, and with it this."""
    folder = tempfile.TemporaryDirectory(prefix="binlake-")
    write_archive(Path(folder.name) / NAME)
    return folder


def write_archive(file: Path) -> None:
    """An archive of Binlake's packages, from a folder or an archive."""
    with zipfile.ZipFile(file, "w", zipfile.ZIP_DEFLATED) as archive:
        for package in PACKAGES:
            for name, content in _members(files(package), package):
                archive.writestr(name, content)


def _members(folder: Any, place: str) -> Iterator[tuple[str, bytes]]:
    for entry in folder.iterdir():
        if entry.name == "__pycache__":
            continue
        name = f"{place}/{entry.name}"
        if entry.is_dir():
            yield from _members(entry, name)
        else:
            yield name, entry.read_bytes()
