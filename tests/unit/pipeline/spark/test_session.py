"""How a session is configured before Spark is started."""

from __future__ import annotations

import json
import os
from pathlib import Path

import pytest

from pipeline.settings import Settings
from pipeline.spark.session import (
    CODE_CACHE,
    COLLECTOR,
    COMPILER,
    QUICK,
    configuration,
    cores,
    log4j,
    with_defaults,
)


@pytest.mark.parametrize(
    ("given", "started_with"),
    [
        ("", f"{COLLECTOR} {CODE_CACHE} {COMPILER}"),
        ("-Dx=y", f"{COLLECTOR} {CODE_CACHE} {COMPILER} -Dx=y"),
        ("-XX:+UseG1GC", f"{CODE_CACHE} {COMPILER} -XX:+UseG1GC"),
        ("-Dx=y -XX:+UseZGC", f"{CODE_CACHE} {COMPILER} -Dx=y -XX:+UseZGC"),
        (
            "-XX:+UseStringDeduplication",
            f"{COLLECTOR} {CODE_CACHE} {COMPILER} -XX:+UseStringDeduplication",
        ),
        ("-XX:ReservedCodeCacheSize=1g", f"{COLLECTOR} {COMPILER} -XX:ReservedCodeCacheSize=1g"),
        ("-XX:TieredStopAtLevel=1", f"{COLLECTOR} {CODE_CACHE} -XX:TieredStopAtLevel=1"),
        ("-XX:-TieredCompilation", f"{COLLECTOR} {CODE_CACHE} -XX:-TieredCompilation"),
    ],
)
def test_java_gets_defaults_for_options_that_are_not_set(given: str, started_with: str) -> None:
    assert with_defaults(given) == started_with
    assert with_defaults(given, little=True) == started_with.replace(COMPILER, QUICK)


def test_spark_logs_errors_as_json_with_the_field_names_of_binlakes_lines() -> None:
    configuration = log4j("json")
    (template,) = [
        line.partition(" = ")[2] for line in configuration.splitlines() if "eventTemplate" in line
    ]
    assert json.loads(template).keys() == {
        *("time", "level", "logger", "message", "event", "exc_info"),
    }
    assert "PatternLayout" not in configuration
    assert "%m%n%ex{short}" in log4j("text")


@pytest.mark.parametrize(
    ("master", "number"), [("local", 1), ("local[3]", 3), ("local[2,4]", 2)], ids=str
)
def test_cores_of_a_local_master(master: str, number: int) -> None:
    assert cores(master) == number


@pytest.mark.parametrize("master", ["local[2]", "spark://master:7077"])
def test_a_driver_can_be_reached_by_its_workers(
    master: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    # Set for Spark before it starts.
    for name in ("JAVA_HOME", "SPARK_HOME", "PYSPARK_PYTHON"):
        monkeypatch.setenv(name, os.environ.get(name, ""))
    monkeypatch.setattr("pipeline.spark.session.java_home", lambda: Path("/jdk"))
    monkeypatch.setattr("pipeline.spark.session.delta_jars", lambda home, conf: [])
    found = configuration(Settings.load(None, spark={"master": master}))
    assert found["spark.master"] == master
    assert ("spark.driver.host" in found) is master.startswith("local")
