"""The column readers' tests, repeated with interpreted kernels and with bounds checks.

The environment selects the mode before numba is imported, so each runs in its own process. Random
values are fewer (`tests/support/decoder/kernels.py`), and what has no kernels is left out.
"""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

COLUMNS = Path(__file__).parent / "columns"
REPOSITORY = Path(__file__).parents[3]
WITHOUT_KERNELS = COLUMNS / "test_arrays.py"


@pytest.mark.parametrize("mode", ["NUMBA_DISABLE_JIT", "NUMBA_BOUNDSCHECK"])
def test_the_column_tests_pass(mode: str) -> None:
    options = ("-qx", "-p", "no:cacheprovider", f"--ignore={WITHOUT_KERNELS}")
    done = subprocess.run(
        [sys.executable, "-m", "pytest", *options, COLUMNS],
        env={**os.environ, mode: "1"},
        cwd=REPOSITORY,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stdout[-4000:]
