"""Package the snapshot script for servers: a zip of the modules that need only Python."""

from __future__ import annotations

import zipfile
from pathlib import Path

PACKAGE = Path(__file__).parent
MODULES = ("__init__", "canonical", "chunks", "snapshot_columns", "snapshot")
_MAIN = "import sys\n\nfrom pipeline.verify.snapshot import main\n\nsys.exit(main())\n"
_INTERPRETER = b"#!/usr/bin/env python3\n"


def write_script(path: Path) -> None:
    """Write the script as a zip application, run with `python3 FILE.pyz`."""
    with path.open("wb") as file:
        file.write(_INTERPRETER)
        with zipfile.ZipFile(file, "w", zipfile.ZIP_DEFLATED) as archive:
            archive.writestr("__main__.py", _MAIN)
            archive.writestr("pipeline/__init__.py", "")
            for name in MODULES:
                archive.write(PACKAGE / f"{name}.py", f"pipeline/verify/{name}.py")
    path.chmod(0o755)
