"""Distribution of the driver's own code to Spark's workers.

spark-submit makes a wheel available to its driver only: on workers, PySpark recognizes archives by
their suffix, and `.whl` is not among them. If workers have their own Binlake, as in an image, it
may be another version, but the version that decodes must be the one that planned.
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

from pipeline.lake.child_sessions import is_connected

PACKAGES = ("decoder", "pipeline", "pyspark_binlog", "binlake")
NAME = "binlake-of-the-driver.zip"


def ship(spark: SparkSession) -> None:
    """Make every worker of the application import Binlake from an archive of the driver's code.

    With Spark Connect, whose server needs Binlake installed, it does nothing.
    """
    if not (is_connected(spark) or on_this_machine(spark.sparkContext.master or "")):
        spark.sparkContext.addPyFile(str(Path(_folder().name) / NAME))


def on_this_machine(master: str) -> bool:
    """Return True if a master's workers run on the driver's machine, with the same paths."""
    return master.startswith("local") and not master.startswith("local-cluster")


@cache
def _folder() -> tempfile.TemporaryDirectory[str]:
    """Return a folder with the archive, kept until this process ends: workers may fetch it late."""
    folder = tempfile.TemporaryDirectory(prefix="binlake-")
    write_archive(Path(folder.name) / NAME)
    return folder


def write_archive(file: Path) -> None:
    """Write an archive of Binlake's packages, which may be installed as folders or an archive."""
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
