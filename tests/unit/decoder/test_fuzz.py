"""Random damage: a log is read, or refused with a BinlogError; nothing else ever comes out.

Examples are the same in every run. Kernels are fuzzed compiled, and compiled with every access
checked (`NUMBA_BOUNDSCHECK=1`), where a stray read is an IndexError.
"""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings, strategies as st

from tests.support.mutations import READERS, is_refused, mutated, sources

LOGS = sources()
EDIT = st.tuples(st.integers(0, 6), st.integers(0, 1 << 14), st.integers(0, 1 << 16))
REPEATABLE = settings(
    max_examples=1000,
    derandomize=True,
    deadline=None,
    database=None,
    suppress_health_check=list(HealthCheck),
)


@pytest.mark.parametrize("reader", READERS)
@given(log=st.sampled_from(LOGS), edits=st.lists(EDIT, min_size=1, max_size=4))
@REPEATABLE
def test_mutated_logs_are_read_or_refused(
    reader: str, log: bytes, edits: list[tuple[int, int, int]]
) -> None:
    is_refused(READERS[reader], mutated(log, edits))


@pytest.mark.parametrize("reader", READERS)
@given(log=st.sampled_from(LOGS), content=st.binary(max_size=300))
@REPEATABLE
def test_anything_behind_a_description_is_read_or_refused(
    reader: str, log: bytes, content: bytes
) -> None:
    description_end = 4 + int.from_bytes(log[13:17], "little")
    is_refused(READERS[reader], log[:description_end] + content)


def test_no_access_leaves_its_buffer() -> None:
    done = subprocess.run(
        [sys.executable, "-m", "tests.support.mutations", "1500", "20260725", *READERS],
        env={**os.environ, "NUMBA_BOUNDSCHECK": "1"},
        cwd=Path(__file__).parent.parent.parent.parent,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr[-4000:]
    assert int(done.stdout) > 500
