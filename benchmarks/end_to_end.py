"""Measure the time from binlog files to gold by layer, without Spark's start, and check gold.

Run: `make bench`, or `python -m benchmarks.end_to_end`. The recorded workload is replicated into a
new lake; row counts and checksums of every gold table are compared with the source's. To compare
Spark settings, append them: `python -m benchmarks.end_to_end spark.sql.adaptive.enabled=false`.
"""

from __future__ import annotations

import sys
import tempfile
from collections.abc import Mapping
from types import MappingProxyType

from pyspark.sql import SparkSession
from rich.console import Console

from benchmarks.figures import Tables, gold_figures
from benchmarks.peak import Peaks, sampled
from benchmarks.workload import SCHEMA, TABLES, Recording, workload
from pipeline.lake import Lake
from pipeline.observe.memory import keep_freed
from pipeline.observe.progress import terminal_progress
from pipeline.settings import Settings
from pipeline.spark.session import session
from tests.support.lake.run_layers import run_layers

MASTER = "local[2]"
HEAP = "2g"


def main() -> int:
    """Run the benchmark; return 1 if gold differs from the source."""
    conf = dict(argument.split("=", 1) for argument in sys.argv[1:])
    return measure("workload", workload(), SCHEMA, TABLES, Console(), conf)


def measure(
    name: str,
    recording: Recording,
    schema: str,
    tables: Tables,
    screen: Console,
    conf: Mapping[str, str] = MappingProxyType({}),
    most: Peaks | None = None,
) -> int:
    """Replicate a recording into a new lake and print a line per layer.

    Return 1 if gold differs from the source, or if a process uses more memory than `most`.
    """
    with tempfile.TemporaryDirectory() as folder:
        settings = settings_for(str(recording.folder / "binlogs"), folder, conf)
        spark = started(settings, f"binlake {name}")
        with sampled() as peaks:
            reports = run_layers(spark, settings, terminal_progress())
        screen.print(f"{name}: {recording.size / 1e6:.0f} MB on {MASTER}")
        for report in reports:
            screen.print(f"  {report.layer}: {report.seconds:.1f} s, {dict(report.counts)}")
            for line in (*report.faults, *report.gaps):
                screen.print(f"  {report.layer}: {line}")
        seconds = sum(report.seconds for report in reports)
        screen.print(f"  files to gold: {seconds:.1f} s; at most {peaks}")
        gold = gold_figures(spark, Lake(folder), schema, tables)
    wrong = differing(recording, gold)
    screen.print(
        f"  gold differs from the source: {', '.join(wrong)}"
        if wrong
        else "  gold equals the source"
    )
    larger = most is not None and (peaks.own > most.own or peaks.worker > most.worker)
    if larger:
        screen.print(f"  more memory than the limit: {most}")
    return 1 if wrong or larger else 0


def settings_for(
    binlogs: str, lake: str, conf: Mapping[str, str] = MappingProxyType({})
) -> Settings:
    """Return Binlake's default settings with the heap of a small driver."""
    java = {"master": MASTER, "driver_memory": HEAP, "conf": dict(conf)}
    return Settings.load(None, source="bench", binlogs=binlogs, lake=lake, spark=java)


def started(settings: Settings, name: str) -> SparkSession:
    """Return a Spark session that has run its first job."""
    keep_freed()
    spark = session(settings, name)
    spark.range(1).count()
    return spark


def differing(recording: Recording, gold: Mapping[str, list[int]]) -> list[str]:
    """Return the tables whose figures differ from the source's."""
    return sorted(t for t, figures in recording.figures.items() if gold.get(t) != figures)


if __name__ == "__main__":
    sys.exit(main())
