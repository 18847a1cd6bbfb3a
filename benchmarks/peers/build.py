"""Builds the other decoders in `.cache/peers`, each with its own tools, from its registry only."""

from __future__ import annotations

import hashlib
import os
import shutil
import sys
from collections.abc import Callable
from pathlib import Path

from benchmarks.peers.counts import ProgramError
from benchmarks.peers.programs import Printing, Program, Reporting, output
from tests.support import mariadb_install, mysql_install
from tests.support.debian import UnavailableError
from tests.support.installation import Installation

SOURCES = Path(__file__).parent
CACHE = SOURCES.parents[1] / ".cache" / "peers"
PRINT_ROWS = ("--verbose", "--base64-output=decode-rows")
MAVEN_COPY = "org.apache.maven.plugins:maven-dependency-plugin:3.8.1:copy-dependencies"


class CannotBuildError(Exception):
    """A tool is missing, or a build failed; the message says why."""


def go_mysql() -> Program:
    """By `go build`; go.mod and go.sum pin it."""
    target = _made("go_mysql", _build_go, needs=("go",))
    return Reporting((str(target / "peer"),), passes=2)


def mysql_common() -> Program:
    """By `cargo build --release`; Cargo.toml pins it (a Cargo.lock would name its registry)."""
    target = _made("mysql_common", _build_cargo, needs=("cargo",))
    return Reporting((str(target / "release" / "peer"),), passes=2)


def mysql_binlog_connector_java() -> Program:
    """Its jars by Maven, compared with their checksums here; ours by javac. One pass a process."""
    return Reporting(_java(), passes=1)


def mysql_binlog_connector_java_with_json() -> Program:
    """The same, with JSON made to text by the connector's own class."""
    return Reporting(_java(), passes=1, arguments=("json",))


def mysql_binlog_connector_java_warmed() -> Program:
    """The same as the first, over the file again and again, until all of it is machine code."""
    return Reporting(_java(), passes=5)


def mysql_replication() -> Program:
    """In a virtual environment of its own, by hashes."""
    target = _made("mysql_replication", _build_venv, needs=())
    peer = SOURCES / "mysql_replication" / "peer.py"
    return Reporting((str(target / "bin" / "python"), str(peer)), passes=1)


def mysqlbinlog_mysql() -> Program:
    """That of the MySQL server that the tests install."""
    return _mysqlbinlog(mysql_install.installation, "mysqlbinlog")


def mysqlbinlog_mariadb() -> Program:
    """That of the MariaDB server that the tests install."""
    return _mysqlbinlog(mariadb_install.installation, "mariadb-binlog")


def _mysqlbinlog(find: Callable[[], Installation], name: str) -> Program:
    try:
        return Printing((*find().command(name), *PRINT_ROWS))
    except UnavailableError as error:
        raise CannotBuildError(str(error)) from error


def _made(name: str, make: Callable[[Path, Path], None], needs: tuple[str, ...]) -> Path:
    """The folder that `make(sources, folder)` fills, once for each state of the sources."""
    missing = [tool for tool in needs if shutil.which(tool) is None]
    if missing:
        raise CannotBuildError(f"{', '.join(missing)} is not on this machine")
    sources = SOURCES / name
    target = CACHE / f"{name}-{_digest(sources)}"
    done = target / "built"
    if not done.exists():
        target.mkdir(parents=True, exist_ok=True)
        try:
            make(sources, target)
        except ProgramError as error:
            raise CannotBuildError(str(error)) from error
        done.touch()
    return target


def _digest(sources: Path) -> str:
    digest = hashlib.sha256()
    for path in sorted(sources.rglob("*")):
        if path.is_file() and path.suffix != ".pyc":
            digest.update(path.read_bytes())
    return digest.hexdigest()[:12]


def _build_go(sources: Path, target: Path) -> None:
    environment = {**os.environ, "GOFLAGS": "-buildvcs=false -mod=readonly"}
    output(["go", "build", "-C", str(sources), "-o", str(target / "peer"), "."], environment)


def _build_cargo(sources: Path, target: Path) -> None:
    package = target / "package"
    shutil.copytree(sources, package, dirs_exist_ok=True)
    manifest = str(package / "Cargo.toml")
    options = ["--release", "--manifest-path", manifest, "--target-dir", str(target)]
    output(["cargo", "build", *options])


def _java() -> tuple[str, ...]:
    needs = ("mvn", "javac", "java")
    target = _made("mysql_binlog_connector_java", _build_java, needs=needs)
    return ("java", "-cp", f"{target}/jars/*:{target}/classes", "Peer")


def _build_java(sources: Path, target: Path) -> None:
    jars = target / "jars"
    where = [f"-Dmaven.repo.local={CACHE / 'maven'}", f"-DoutputDirectory={jars}"]
    output(["mvn", "-q", "-B", "-f", str(sources / "pom.xml"), *where, MAVEN_COPY])
    verify(jars, (sources / "jars.sha256").read_text())
    compiled = ["-d", str(target / "classes"), str(sources / "Peer.java")]
    output(["javac", "-cp", f"{jars}/*", *compiled])


def verify(folder: Path, listed: str) -> None:
    """The folder holds the listed files and no other, as `sha256sum` lists them."""
    wanted = {name: digest for digest, name in map(str.split, listed.splitlines())}
    found = {path.name: hashlib.sha256(path.read_bytes()).hexdigest() for path in folder.iterdir()}
    if found != wanted:
        raise CannotBuildError(f"downloaded were {found}, and not {wanted}")


def _build_venv(sources: Path, target: Path) -> None:
    output([sys.executable, "-m", "venv", "--without-pip", str(target)])
    pip = [sys.executable, "-m", "pip", "--python", str(target / "bin/python"), "install"]
    output([*pip, "--quiet", "--require-hashes", "-r", str(sources / "requirements.txt")])
