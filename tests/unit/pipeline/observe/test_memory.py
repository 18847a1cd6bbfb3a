"""Freed memory is kept for reuse, and returned to the system on request."""

from __future__ import annotations

import subprocess
import sys

import pytest

PROGRAM = """
import resource, sys, threading
import pyarrow as pa
from pipeline.observe.memory import give_back, keep_freed

def resident():
    with open("/proc/self/statm") as statm:
        return int(statm.read().split()[1]) * resource.getpagesize() >> 20

def work():
    for _ in range(100):
        b"x" * (8 << 20)
        memoryview(pa.allocate_buffer(8 << 20)).cast("B")[:] = block

if "keep" in sys.argv:
    keep_freed()
block = b"y" * (8 << 20)
before = resident()
thread = threading.Thread(target=work)
thread.start()
thread.join()
held = resident()
give_back()
print(held - before, held - resident())
"""

OPTIONS = """
import os
from pipeline.observe.memory import keep_freed

keep_freed()
os.environ["_RJEM_MALLOC_CONF"] += ",stats_print:true"
import deltalake
"""


def measured(*arguments: str) -> tuple[int, int]:
    """Return the MiB kept in the process after blocks of 1600 MiB, and the MiB then returned."""
    command = [sys.executable, "-c", PROGRAM, *arguments]
    done = subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True)
    held, returned = map(int, done.stdout.split())
    return held, returned


@pytest.mark.skipif(sys.platform != "linux", reason="glibc's allocator")
def test_freed_memory_is_kept_and_returned_on_request() -> None:
    held, returned = measured("keep")
    assert 8 <= held < 100
    assert returned >= 8
    assert measured()[1] < 8


@pytest.mark.skipif(sys.platform != "linux", reason="jemalloc's options are set for glibc")
def test_delta_rs_has_one_heap() -> None:
    done = subprocess.run(
        [sys.executable, "-c", OPTIONS], check=True, capture_output=True, text=True
    )
    assert "opt.narenas: 1\n" in done.stderr
