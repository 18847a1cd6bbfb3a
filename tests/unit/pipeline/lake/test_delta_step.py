"""Recognition of commit conflicts, with and without Delta's Python package."""

from __future__ import annotations

import subprocess
import sys

import pytest
from delta.exceptions import ConcurrentAppendException
from pyspark.errors import PySparkException

from pipeline.lake.delta_step import CONFLICTS, is_conflict

WITHOUT_DELTA = """
import sys
sys.modules["delta"] = None
import pipeline.run.commands
from pipeline.lake.delta_step import CONFLICTS
assert CONFLICTS == ()
"""


def connect_error(condition: str) -> PySparkException:
    """Return an error as Spark Connect raises it: without a class of its own."""
    error = PySparkException(f"[{condition}] Another was quicker.")
    error._errorClass = condition
    return error


@pytest.mark.parametrize(
    ("error", "conflict"),
    [
        (ConcurrentAppendException("files were added"), True),
        (connect_error("DELTA_CONCURRENT_APPEND.WITHOUT_HINT"), True),
        (connect_error("DELTA_PROTOCOL_CHANGED"), True),
        (connect_error("DELTA_MISSING_DELTA_TABLE"), False),
    ],
)
def test_conflicts_are_recognized_by_class_or_condition(
    error: PySparkException, conflict: bool
) -> None:
    assert is_conflict(error) is conflict
    assert len(CONFLICTS) == 8


def test_spark_connect_clients_need_no_delta_package() -> None:
    subprocess.run([sys.executable, "-c", WITHOUT_DELTA], check=True)
