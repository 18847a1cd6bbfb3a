"""The report of the suite's time."""

from __future__ import annotations

from pathlib import Path

import pytest

from benchmarks.suite import DOCUMENT, LIMIT, MARKS, Timed, read_results, summary, tables_of

RESULTS = """\
<?xml version="1.0" encoding="utf-8"?>
<testsuites><testsuite name="pytest">
<testcase classname="tests.unit.decoder.test_head" name="test_a[x-1]" time="0.5"/>
<testcase classname="tests.e2e.test_live_server" name="test_b" time="22.25"><failure/></testcase>
<testcase classname="tests.unit.decoder.test_head" name="test_c" time="1.0"/>
</testsuite></testsuites>
"""
TESTS = [
    Timed("tests/unit/decoder/test_head.py", "test_a[x-1]", 0.5),
    Timed("tests/e2e/test_live_server.py", "test_b", 22.25),
    Timed("tests/unit/decoder/test_head.py", "test_c", 1.0),
]


def test_tests_are_read_from_pytests_results(tmp_path: Path) -> None:
    results = tmp_path / "results.xml"
    results.write_text(RESULTS)
    assert read_results(results) == TESTS


def test_folders_files_and_tests_are_listed_with_the_slowest_first() -> None:
    folders, files, tests = tables_of(TESTS).split("\n\n")
    assert folders.splitlines()[2:] == ["| tests/e2e | 1 | 22 |", "| tests/unit | 2 | 2 |"]
    assert files.splitlines()[2] == "| `tests/e2e/test_live_server.py` | 22 |"
    assert tests.splitlines()[2:4] == [
        "| `test_live_server.py::test_b` | 22 |",
        "| `test_head.py::test_c` | 1 |",
    ]


@pytest.mark.parametrize(("took", "verdict"), [(LIMIT, "within"), (LIMIT + 1, "longer than")])
def test_the_summary_compares_the_time_with_the_limit(took: float, verdict: str) -> None:
    assert f"{verdict} the limit of 15 minutes" in summary(TESTS, took)


def test_the_document_has_the_marks() -> None:
    assert "new block" in MARKS.replaced(DOCUMENT.read_text(), "new block")
