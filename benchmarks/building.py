"""Builds programs that are no part of ours in `.cache/peers`: each with its own tools, from its
registry only, once for each state of its sources."""

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
    """A tool is missing, or a build failed; the message says why."""


def built(sources: Path, make: Callable[[Path, Path], None], needs: tuple[str, ...]) -> Path:
    """The folder that `make(sources, folder)` fills, once for each state of the sources."""
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
    """That of a folder with a POM, the checksums of its jars, and Java files: jars by Maven,
    compared with these checksums, classes by javac."""
    target = built(sources, _build_java, needs=JAVA_TOOLS)
    return f"{target}/jars/*:{target}/classes"


def verify(folder: Path, listed: str) -> None:
    """The folder holds the listed files and no other, as `sha256sum` lists them."""
    wanted = {name: digest for digest, name in map(str.split, listed.splitlines())}
    found = {path.name: hashlib.sha256(path.read_bytes()).hexdigest() for path in folder.iterdir()}
    if found != wanted:
        differing = sorted(name for name, _ in wanted.items() ^ found.items())
        raise CannotBuildError(f"downloaded are not the files that are listed: {differing}")


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
