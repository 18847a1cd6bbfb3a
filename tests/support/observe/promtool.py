"""promtool: the one on PATH, or that of Debian's package of Prometheus.

The package is unpacked with its libraries into `.cache/prometheus` without root: 50 MB of
downloads, which take some 20 seconds, once.
"""

from __future__ import annotations

import shutil
import subprocess
from functools import lru_cache
from pathlib import Path

from tests.support.programs.debian import UnavailableError, loader, unpacked
from tests.support.programs.installation import CACHE

SUITE = "bookworm"


def why_unavailable() -> str | None:
    """Return None if there is a promtool, installed now if necessary, else why there is none."""
    try:
        command()
    except UnavailableError as error:
        return f"no promtool: {error}"
    return None


@lru_cache(maxsize=1)
def command() -> tuple[str, ...]:
    """Return the command-line prefix that starts promtool. Raises UnavailableError."""
    if given := shutil.which("promtool"):
        return (given,)
    root = unpacked(CACHE / "prometheus" / "root", SUITE, ("prometheus",))
    return (*loader(root), str(root / "usr/bin/promtool"))


def promtool(*arguments: str | Path) -> None:
    """Run promtool. Raises CalledProcessError, with what it prints in the test's output."""
    subprocess.run([*command(), *map(str, arguments)], check=True)
