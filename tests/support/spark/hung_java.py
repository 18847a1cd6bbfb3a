"""A JDK that prints its version but hangs on start: Spark keeps starting until killed."""

from __future__ import annotations

from pathlib import Path

from pipeline.spark.java import OLDEST

JAVA = f"""#!/bin/sh
if [ "$1" = -version ]; then
  echo 'openjdk version "{OLDEST}"' >&2
  exit 0
fi
exec sleep 600
"""
HUNG = "sleep"
"""The name of the hung process."""


def made_in(folder: Path) -> Path:
    """Return a JAVA_HOME with it."""
    java = folder / "bin" / "java"
    java.parent.mkdir(parents=True)
    java.write_text(JAVA)
    java.chmod(0o755)
    return folder
