"""Measure how long the test suite takes, and list the slowest folders, files and tests.

It runs the same command as `make test`, and writes the result to docs/contributing/testing.md
unless a test fails. Servers and compiled kernels, which are set up once per machine, are set up
before. Exit code 1 if a test fails, or if the suite takes longer than `LIMIT`. Run: `make
bench-suite` on an idle machine; with a file of pytest's `--junitxml` as an argument, that is read
instead of running the suite.
"""

from __future__ import annotations

import subprocess
import sys
import tempfile
import time
import xml.etree.ElementTree as ET
from collections import Counter, defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from rich.console import Console
from rich.markdown import Markdown

from benchmarks.marked import Marks, table
from benchmarks.peers.machine import load, machine
from decoder.stream.precompile import warm
from tests.support.programs import mariadb_install, mysql_install

LIMIT = 15 * 60
"""Seconds that the suite may take on two cores, without installations."""
SHOWN = 25
DOCUMENT = Path(__file__).parents[1] / "docs" / "contributing" / "testing.md"
MARKS = Marks("bench-suite")
COMMAND = (
    *(sys.executable, "-m", "pytest", "--numprocesses", "3"),
    *("--dist", "loadfile", "--no-loadscope-reorder", "-q"),
)


@dataclass(frozen=True, slots=True)
class Timed:
    """A test: its file, its name, and its seconds including fixtures."""

    file: str
    name: str
    seconds: float


def main() -> int:
    """Run the suite, or read a run's results, and report where the time went."""
    screen = Console()
    if len(sys.argv) > 1:
        tests = read_results(Path(sys.argv[1]))
        screen.print(Markdown(tables_of(tests)))
        return 0
    set_up()
    with tempfile.TemporaryDirectory() as folder:
        results = Path(folder) / "results.xml"
        before, began = load(), time.monotonic()
        failed = subprocess.run([*COMMAND, f"--junitxml={results}"], check=False).returncode
        took = time.monotonic() - began
        tests = read_results(results)
    conditions = f"{machine()}; load {before} before and {load()} after."
    block = f"{conditions}\n\n{summary(tests, took)}\n\n{tables_of(tests)}"
    screen.print(Markdown(block))
    if not failed:
        DOCUMENT.write_text(MARKS.replaced(DOCUMENT.read_text(), block))
    return 1 if failed or took > LIMIT else 0


def set_up() -> None:
    """Install the servers and compile the kernels, if necessary.

    Raises RuntimeError if a server cannot be installed.
    """
    warm()
    for why_unavailable in (
        mysql_install.why_unavailable,
        mariadb_install.why_unavailable,
        mariadb_install.why_newest_unavailable,
    ):
        if reason := why_unavailable():
            raise RuntimeError(reason)


def read_results(results: Path) -> list[Timed]:
    """Read the tests of a run from the file of pytest's `--junitxml`."""
    cases = ET.parse(results).getroot().iter("testcase")
    return [
        Timed(
            f"{case.attrib['classname'].replace('.', '/')}.py",
            case.attrib["name"],
            float(case.attrib["time"]),
        )
        for case in cases
    ]


def summary(tests: Sequence[Timed], took: float) -> str:
    """Return a sentence with the suite's time and whether it is within the limit."""
    verdict = "within" if took <= LIMIT else "longer than"
    return (
        f"{len(tests):,} tests in {took / 60:.1f} minutes, in three processes: "
        f"{verdict} the limit of {LIMIT // 60} minutes."
    )


def tables_of(tests: Sequence[Timed]) -> str:
    """Return Markdown tables of seconds by folder, file and test, the slowest first."""
    files, folders = defaultdict[str, float](float), defaultdict[str, float](float)
    counts = Counter(_folder(test) for test in tests)
    for test in tests:
        files[test.file] += test.seconds
        folders[_folder(test)] += test.seconds
    slowest = sorted(tests, key=lambda test: -test.seconds)[:SHOWN]
    return "\n\n".join(
        (
            table(
                ("folder", "tests", "seconds"),
                [(name, f"{counts[name]:,}", took) for name, took in _longest(folders)],
            ),
            table(
                ("file", "seconds"),
                [(f"`{name}`", took) for name, took in _longest(files)[:SHOWN]],
            ),
            table(
                ("test", "seconds"),
                [(f"`{Path(t.file).name}::{t.name}`", f"{t.seconds:.0f}") for t in slowest],
            ),
        )
    )


def _folder(test: Timed) -> str:
    return "/".join(test.file.split("/")[:2])


def _longest(seconds: Mapping[str, float]) -> list[tuple[str, str]]:
    """Return names with their seconds, the longest first."""
    ranked = sorted(seconds.items(), key=lambda item: -item[1])
    return [(name, f"{took:.0f}") for name, took in ranked]


if __name__ == "__main__":
    sys.exit(main())
