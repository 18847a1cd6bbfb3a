"""A JDK that tells its version, and hangs as it starts: Spark is starting until it is ended."""

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
"""What it is called while it hangs."""


def made_in(folder: Path) -> Path:
    """A JAVA_HOME of it."""
    java = folder / "bin" / "java"
    java.parent.mkdir(parents=True)
    java.write_text(JAVA)
    java.chmod(0o755)
    return folder
