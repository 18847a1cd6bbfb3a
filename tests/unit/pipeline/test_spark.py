"""How a session is configured before Spark is started."""

from __future__ import annotations

import pytest

from pipeline.spark import cores, with_collector


@pytest.mark.parametrize(
    ("given", "started_with"),
    [
        ("", "-XX:+UseParallelGC"),
        ("-Dx=y", "-XX:+UseParallelGC -Dx=y"),
        ("-XX:+UseG1GC", "-XX:+UseG1GC"),
        ("-Dx=y -XX:+UseZGC", "-Dx=y -XX:+UseZGC"),
        ("-XX:+UseStringDeduplication", "-XX:+UseParallelGC -XX:+UseStringDeduplication"),
    ],
)
def test_java_gets_a_collector_unless_its_options_name_one(given: str, started_with: str) -> None:
    assert with_collector(given) == started_with


@pytest.mark.parametrize(
    ("master", "number"), [("local", 1), ("local[3]", 3), ("local[2,4]", 2)], ids=str
)
def test_a_local_master_tells_its_cores(master: str, number: int) -> None:
    assert cores(master) == number
