"""The machine of a benchmark: its CPU, its load, and the versions of the decoder's dependencies."""

from __future__ import annotations

import os
import platform
import re
from importlib.metadata import version
from pathlib import Path

PACKAGES = ("numba", "llvmlite", "numpy", "pyarrow")


def machine() -> str:
    """Describe the machine and the versions."""
    packages = ", ".join(f"{name} {version(name)}" for name in PACKAGES)
    cores = len(os.sched_getaffinity(0))
    return f"{cpu()}, {cores} cores; Python {platform.python_version()}, {packages}"


def cpu() -> str:
    """Return the CPU's name, or its architecture if /proc/cpuinfo has no name."""
    found = re.search(r"^model name\s*: (.+)$", Path("/proc/cpuinfo").read_text(), re.MULTILINE)
    return found[1] if found else platform.machine()


def load() -> str:
    """Return the load average of the last minute."""
    return f"{os.getloadavg()[0]:.1f}"
