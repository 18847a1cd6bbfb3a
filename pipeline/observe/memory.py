"""Memory allocation of this process: freed memory is kept, so that its pages can be reused.

A task works through blocks of 4 to 64 MiB. By default glibc returns each to the system when it is
freed, and the kernel clears the pages of the next one again (docs/contributing/benchmarks.md). The
memory kept is what was in use at the peak; `give_back` returns it to the system.

delta-rs has an allocator of its own, jemalloc, by default with four heaps for each core. It gets
one, which returns freed memory within a second.
"""

from __future__ import annotations

import ctypes
import os
import sys

_TRIM_THRESHOLD, _MMAP_THRESHOLD, _ARENA_MAX = -1, -3, -8
"""Parameters of glibc's mallopt."""
_KEPT = 1 << 30
_LARGEST = 32 << 20
"""The largest threshold that glibc accepts; larger blocks are always mapped separately."""
_OF_DELTA_RS = "_RJEM_MALLOC_CONF"
"""The environment variable with jemalloc's options ("TUNING" in its manual)."""
_ONE_HEAP = "narenas:1,dirty_decay_ms:1000,muzzy_decay_ms:0"


def keep_freed() -> None:
    """Make Arrow and Python allocate from one heap that keeps freed memory, and delta-rs from one
    that does not; needs glibc.

    Call it before numpy, pyarrow or deltalake is imported: the number of heaps is fixed once their
    threads have started.
    """
    if (libc := _glibc()) is None:
        return
    os.environ.setdefault(_OF_DELTA_RS, _ONE_HEAP)
    libc.mallopt(_ARENA_MAX, 1)
    libc.mallopt(_MMAP_THRESHOLD, _LARGEST)
    libc.mallopt(_TRIM_THRESHOLD, _KEPT)
    import pyarrow as pa

    pa.set_memory_pool(pa.system_memory_pool())


def give_back() -> None:
    """Return freed memory to the system."""
    if (libc := _glibc()) is not None:
        libc.malloc_trim(0)


def _glibc() -> ctypes.CDLL | None:
    libc = ctypes.CDLL(None) if sys.platform == "linux" else None
    return libc if hasattr(libc, "gnu_get_libc_version") else None
