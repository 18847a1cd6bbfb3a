"""Requirements of Spark's start, and the messages that name those that are missing."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from pipeline.errors import MissingRequirementError
from pipeline.spark.jars import spark_home


def test_spark_home_has_the_scripts_of_the_installed_pyspark() -> None:
    scripts = spark_home() / "bin"
    assert (scripts / "spark-submit").read_text().startswith("#!/usr/bin/env bash\n")


def test_without_pyspark_a_message_says_which_extra_to_install(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setitem(sys.modules, "pyspark", None)
    with pytest.raises(MissingRequirementError) as refused:
        spark_home()
    assert str(refused.value) == (
        "Spark is not installed (no pyspark). Run: pip install 'binlake[spark]', or"
        " pip install '.[spark]' in a clone."
    )


def test_without_bash_a_message_says_that_spark_needs_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(MissingRequirementError) as refused:
        spark_home()
    assert str(refused.value) == (
        "Spark cannot start: its scripts need bash, which is not in PATH."
        " Install bash, or add its folder to PATH."
    )
