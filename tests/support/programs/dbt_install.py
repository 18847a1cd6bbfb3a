"""dbt with DuckDB and its extension for Delta, in an environment of its own: dbt's requirements
exclude versions that Binlake's tests use (protobuf, pathspec). Some 80 MB to download, once."""

from __future__ import annotations

import os
import subprocess
import sys
import venv
from functools import lru_cache
from pathlib import Path

PACKAGES = (
    *("dbt-core>=1.11,<1.12", "dbt-duckdb>=1.10"),
    *("duckdb>=1.5,<1.6", "duckdb-extension-delta>=1.5,<1.6"),
)
FOLDER = (
    Path(os.environ["BINLAKE_CACHE"]) / f"dbt-1.11-py{sys.version_info[0]}{sys.version_info[1]}"
)
EXTENSIONS = FOLDER / "extensions"
"""DuckDB's `extension_directory`. With the extension in it, `extensions: [delta]` fetches nothing.
"""
INSTALL = """
import sys
from importlib.resources import files

import duckdb

folder = files("duckdb_extension_delta") / "extensions" / f"v{duckdb.__version__}"
with duckdb.connect(config={"extension_directory": sys.argv[1]}) as connection:
    connection.install_extension(str(folder / "delta.duckdb_extension"))
"""


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

    Raises CalledProcessError if something cannot be installed.
    """
    ready, wanted = FOLDER / "ready", "\n".join(PACKAGES)
    if not ready.exists() or ready.read_text() != wanted:
        venv.create(FOLDER, clear=True, with_pip=True)
        python = str(FOLDER / "bin" / "python")
        subprocess.run([python, "-m", "pip", "install", "--quiet", *PACKAGES], check=True)
        subprocess.run([python, "-c", INSTALL, str(EXTENSIONS)], check=True)
        ready.write_text(wanted)
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
