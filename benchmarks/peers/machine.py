"""What the figures were taken on: the CPU, and the versions of what our decoder stands on."""

from __future__ import annotations

import os
import platform
import re
from importlib.metadata import version
from pathlib import Path

PACKAGES = ("numba", "llvmlite", "numpy", "pyarrow")


def machine() -> str:
    """One sentence."""
    packages = ", ".join(f"{name} {version(name)}" for name in PACKAGES)
    cores = len(os.sched_getaffinity(0))
    return f"{cpu()}, {cores} cores; Python {platform.python_version()}, {packages}"


def cpu() -> str:
    """The CPU's name, or that of its architecture where the system tells none."""
    found = re.search(r"^model name\s*: (.+)$", Path("/proc/cpuinfo").read_text(), re.MULTILINE)
    return found[1] if found else platform.machine()


def load() -> str:
    """How many processes wanted to run in the last minute, on average."""
    return f"{os.getloadavg()[0]:.1f}"
