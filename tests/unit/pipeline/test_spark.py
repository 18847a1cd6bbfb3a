"""How a session is configured before Spark is started."""

from __future__ import annotations

import pytest

from pipeline.spark import CODE_CACHE, COLLECTOR, COMPILER, cores, with_defaults


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
def test_java_gets_what_its_options_do_not_choose(given: str, started_with: str) -> None:
    assert with_defaults(given) == started_with


@pytest.mark.parametrize(
    ("master", "number"), [("local", 1), ("local[3]", 3), ("local[2,4]", 2)], ids=str
)
def test_a_local_master_tells_its_cores(master: str, number: int) -> None:
    assert cores(master) == number
