"""dbt with DuckDB, in an environment of its own: its requirements exclude versions that Binlake's
tests use (protobuf, pathspec). Some 50 MB to download, once."""

from __future__ import annotations

import os
import subprocess
import sys
import venv
from functools import lru_cache
from pathlib import Path

PACKAGES = ("dbt-core>=1.11,<1.12", "dbt-duckdb>=1.10")
FOLDER = (
    Path(os.environ["BINLAKE_CACHE"]) / f"dbt-1.11-py{sys.version_info[0]}{sys.version_info[1]}"
)


def why_unavailable() -> str | None:
    """Return None if dbt is installed, if necessary now, else why it cannot be."""
    try:
        programs()
    except (OSError, subprocess.CalledProcessError) as error:
        return f"no dbt: {error}"
    return None


@lru_cache(maxsize=1)
def programs() -> Path:
    """Return the folder with the environment's programs; installs it if necessary.

    Raises CalledProcessError if the packages cannot be installed.
    """
    ready = FOLDER / "ready"
    if not ready.exists():
        venv.create(FOLDER, clear=True, with_pip=True)
        install = [str(FOLDER / "bin" / "python"), "-m", "pip", "install", "--quiet", *PACKAGES]
        subprocess.run(install, check=True)
        ready.touch()
    return FOLDER / "bin"


def dbt(project: Path, *command: str) -> subprocess.CompletedProcess[str]:
    """Run a dbt command in a project, which has its profiles with it."""
    return subprocess.run(
        [programs() / "dbt", "--no-use-colors", *command, "--profiles-dir", "."],
        cwd=project,
        env={**os.environ, "DBT_SEND_ANONYMOUS_USAGE_STATS": "false"},
        capture_output=True,
        text=True,
        check=False,
    )
