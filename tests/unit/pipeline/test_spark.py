"""How a session is configured before Spark is started."""

from __future__ import annotations

import pytest

from pipeline.spark import CODE_CACHE, COLLECTOR, cores, with_defaults


@pytest.mark.parametrize(
    ("given", "started_with"),
    [
        ("", f"{COLLECTOR} {CODE_CACHE}"),
        ("-Dx=y", f"{COLLECTOR} {CODE_CACHE} -Dx=y"),
        ("-XX:+UseG1GC", f"{CODE_CACHE} -XX:+UseG1GC"),
        ("-Dx=y -XX:+UseZGC", f"{CODE_CACHE} -Dx=y -XX:+UseZGC"),
        (
            "-XX:+UseStringDeduplication",
            f"{COLLECTOR} {CODE_CACHE} -XX:+UseStringDeduplication",
        ),
        ("-XX:ReservedCodeCacheSize=1g", f"{COLLECTOR} -XX:ReservedCodeCacheSize=1g"),
    ],
)
def test_java_gets_what_its_options_do_not_choose(given: str, started_with: str) -> None:
    assert with_defaults(given) == started_with


@pytest.mark.parametrize(
    ("master", "number"), [("local", 1), ("local[3]", 3), ("local[2,4]", 2)], ids=str
)
def test_a_local_master_tells_its_cores(master: str, number: int) -> None:
    assert cores(master) == number
