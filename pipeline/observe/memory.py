"""Memory of this process: kept when it is freed, so that the same pages serve the next block.

A task works through blocks of 4 to 64 MiB. By default each is given back to the system when it is
freed, and the next one's pages are cleared by the kernel again (docs/contributing/benchmarks.md).
What is kept is what was in use at once; `give_back` returns it.
"""

from __future__ import annotations

import ctypes
import sys

_TRIM_THRESHOLD, _MMAP_THRESHOLD, _ARENA_MAX = -1, -3, -8
"""Parameters of glibc's mallopt."""
_KEPT = 1 << 30
_LARGEST = 32 << 20
"""glibc takes no larger threshold; above, a block is the system's own."""


def keep_freed() -> None:
    """Have Arrow and Python allocate from one heap that keeps what is freed.

    It is called before numpy or pyarrow is imported: their threads settle how many heaps there are.
    Only glibc can do it.
    """
    if (libc := _glibc()) is None:
        return
    libc.mallopt(_ARENA_MAX, 1)
    libc.mallopt(_MMAP_THRESHOLD, _LARGEST)
    libc.mallopt(_TRIM_THRESHOLD, _KEPT)
    import pyarrow as pa

    pa.set_memory_pool(pa.system_memory_pool())


def give_back() -> None:
    """Return what is free to the system."""
    if (libc := _glibc()) is not None:
        libc.malloc_trim(0)


def _glibc() -> ctypes.CDLL | None:
    libc = ctypes.CDLL(None) if sys.platform == "linux" else None
    return libc if hasattr(libc, "gnu_get_libc_version") else None
