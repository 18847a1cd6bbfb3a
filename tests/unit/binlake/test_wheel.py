"""The wheel: what `make wheel` puts into it."""

from __future__ import annotations

from pathlib import Path
from zipfile import ZipFile

from tests.support.spark.spark_cluster import ROOT, built_wheel

PACKAGES = ("binlake", "decoder", "pipeline", "pyspark_binlog")


def test_the_wheel_has_every_file_of_the_four_packages_and_nothing_else(tmp_path: Path) -> None:
    found = set(ZipFile(built_wheel(tmp_path)).namelist())
    installed = {name for name in found if ".dist-info/" not in name}
    assert installed == {
        str(file.relative_to(ROOT))
        for package in PACKAGES
        for file in (ROOT / package).rglob("*")
        if file.is_file() and file.parent.name != "__pycache__"
    }
    assert {f"{package}/py.typed" for package in PACKAGES} <= installed
    metadata = {name.partition(".dist-info/")[2] for name in found - installed}
    assert {"METADATA", "entry_points.txt", "licenses/LICENSE"} <= metadata
