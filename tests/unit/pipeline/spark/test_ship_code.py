"""Shipping of Binlake's code to workers, and which masters have workers elsewhere."""

from __future__ import annotations

import subprocess
import sys
import zipfile
from pathlib import Path
from types import SimpleNamespace
from typing import cast

import pytest
from pyspark.sql import SparkSession

from pipeline.spark.ship_code import NAME, on_this_machine, ship, write_archive

ROOT = Path(__file__).parents[4]
USE = """
import pipeline.silver.decode.decode, decoder.stream.precompile
import pyspark_binlog.source, pyspark_binlog.batch, pyspark_binlog.stream
from importlib.resources import files
recorded = files("decoder.stream").joinpath("warm.binlog.zst").read_bytes()
print(pipeline.silver.decode.decode.__file__, pyspark_binlog.source.__file__, len(recorded))
"""


def test_an_archive_has_every_module_and_file_and_can_be_imported(tmp_path: Path) -> None:
    file = tmp_path / "code.zip"
    write_archive(file)
    code = f"import sys; sys.path.insert(0, {str(file)!r})\n{USE}"
    done = subprocess.run(
        [sys.executable, "-c", code], cwd="/", capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr[-2000:]
    size = (ROOT / "decoder" / "stream" / "warm.binlog.zst").stat().st_size
    assert done.stdout.split() == [
        f"{file}/pipeline/silver/decode/decode.py",
        f"{file}/pyspark_binlog/source.py",
        str(size),
    ]


@pytest.mark.parametrize(
    ("master", "here"),
    [
        ("local", True),
        ("local[2]", True),
        ("local-cluster[2,1,1024]", False),
        ("spark://master:7077", False),
        ("yarn", False),
        ("k8s://https://server:6443", False),
    ],
)
def test_local_masters_are_distinguished_from_clusters(master: str, here: bool) -> None:
    assert on_this_machine(master) is here


@pytest.mark.parametrize("master", ["local[2]", "spark://master:7077"])
def test_a_session_gets_the_code_for_workers_elsewhere(master: str) -> None:
    given: list[str] = []
    context = SimpleNamespace(master=master, addPyFile=given.append)
    ship(cast(SparkSession, SimpleNamespace(_jsparkSession=None, sparkContext=context)))
    assert [Path(file).name for file in given] == ([] if master == "local[2]" else [NAME])
    assert all(zipfile.is_zipfile(file) for file in given)


def test_a_session_of_spark_connect_gets_no_code() -> None:
    ship(cast(SparkSession, SimpleNamespace()))
