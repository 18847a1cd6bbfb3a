"""Builds of third-party programs in `.cache/peers`, each with its own tools and registry.

A program is built again only if its sources have changed.
"""

from __future__ import annotations

import hashlib
import shutil
from collections.abc import Callable
from pathlib import Path

from benchmarks.peers.counts import ProgramError
from benchmarks.peers.programs import output

CACHE = Path(__file__).parents[1] / ".cache" / "peers"
MAVEN_COPY = "org.apache.maven.plugins:maven-dependency-plugin:3.8.1:copy-dependencies"
JAVA_TOOLS = ("mvn", "javac", "java")


class CannotBuildError(Exception):
    """A tool is missing, or a build failed; the message has the reason."""


def built(sources: Path, make: Callable[[Path, Path], None], needs: tuple[str, ...]) -> Path:
    """Return the folder that `make(sources, folder)` has filled for the current sources.

    Raises CannotBuildError.
    """
    missing = [tool for tool in needs if shutil.which(tool) is None]
    if missing:
        raise CannotBuildError(f"{', '.join(missing)} is not on this machine")
    target = CACHE / f"{sources.name}-{_digest(sources)}"
    done = target / "built"
    if not done.exists():
        target.mkdir(parents=True, exist_ok=True)
        try:
            make(sources, target)
        except ProgramError as error:
            raise CannotBuildError(str(error)) from error
        done.touch()
    return target


def java_classpath(sources: Path) -> str:
    """Return the classpath of a folder with `pom.xml`, `jars.sha256` and Java files.

    Maven downloads the jars, which are verified by the checksums; javac compiles the files. Raises
    CannotBuildError.
    """
    target = built(sources, _build_java, needs=JAVA_TOOLS)
    return f"{target}/jars/*:{target}/classes"


def verify(folder: Path, listed: str) -> None:
    """Raise CannotBuildError unless the folder has exactly the files of a `sha256sum` list."""
    wanted = {name: digest for digest, name in map(str.split, listed.splitlines())}
    found = {path.name: hashlib.sha256(path.read_bytes()).hexdigest() for path in folder.iterdir()}
    if found != wanted:
        differing = sorted(name for name, _ in wanted.items() ^ found.items())
        raise CannotBuildError(f"the downloaded files differ from the listed ones: {differing}")


def _build_java(sources: Path, target: Path) -> None:
    jars = target / "jars"
    where = [f"-Dmaven.repo.local={CACHE / 'maven'}", f"-DoutputDirectory={jars}"]
    output(["mvn", "-q", "-B", "-f", str(sources / "pom.xml"), *where, MAVEN_COPY])
    verify(jars, (sources / "jars.sha256").read_text())
    own = sorted(map(str, sources.glob("*.java")))
    output(["javac", "-cp", f"{jars}/*", "-d", str(target / "classes"), *own])


def _digest(sources: Path) -> str:
    digest = hashlib.sha256()
    for path in sorted(sources.rglob("*")):
        if path.is_file() and path.suffix != ".pyc":
            digest.update(path.read_bytes())
    return digest.hexdigest()[:12]
