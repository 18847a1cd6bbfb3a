"""No test of this folder starts Spark: see docs/contributing/testing.md."""

from __future__ import annotations

import pytest


@pytest.fixture(scope="session")
def spark() -> None:
    """Fail the test that asks for a session."""
    pytest.fail(
        "tests/unit starts no Spark: move this test to the same place under tests/spark, or give"
        " what it tests NO_SPARK or NEVER_STARTED of tests/support/spark/no_spark.py.",
        pytrace=False,
    )
