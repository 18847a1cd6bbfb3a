"""The peers' programs: built here, or from the servers that the tests install."""

from __future__ import annotations

import os
import shutil
import sys
from collections.abc import Callable
from pathlib import Path

from benchmarks.peers.programs import Printing, Program, Reporting, output
from benchmarks.third_party import CannotBuildError, built, java_classpath
from tests.support.programs import mariadb_install, mysql_install
from tests.support.programs.debian import UnavailableError
from tests.support.programs.installation import Installation

SOURCES = Path(__file__).parent
PRINT_ROWS = ("--verbose", "--base64-output=decode-rows")


def go_mysql() -> Program:
    """Build go-mysql by `go build`; go.mod and go.sum pin it."""
    target = built(SOURCES / "go_mysql", _build_go, needs=("go",))
    return Reporting((str(target / "peer"),), passes=2)


def mysql_common() -> Program:
    """Build by `cargo build --release`; Cargo.toml pins it (a Cargo.lock would name a registry)."""
    target = built(SOURCES / "mysql_common", _build_cargo, needs=("cargo",))
    return Reporting((str(target / "release" / "peer"),), passes=2)


def mysql_binlog_connector_java() -> Program:
    """Build by Maven (jars, with checksums) and javac. One pass per process."""
    return Reporting(_java(), passes=1)


def mysql_binlog_connector_java_with_json() -> Program:
    """Build the same, with JSON converted to text by the connector's own class."""
    return Reporting(_java(), passes=1, arguments=("json",))


def mysql_binlog_connector_java_warmed() -> Program:
    """Build the same as the first, with five passes per process, so that all code is compiled."""
    return Reporting(_java(), passes=5)


def mysql_replication() -> Program:
    """Install mysql-replication in its own virtual environment, with hashes."""
    target = built(SOURCES / "mysql_replication", _build_venv, needs=())
    peer = SOURCES / "mysql_replication" / "peer.py"
    return Reporting((str(target / "bin" / "python"), str(peer)), passes=1)


def mysqlbinlog_mysql() -> Program:
    """Return the mysqlbinlog of the MySQL server that the tests install."""
    return _mysqlbinlog(mysql_install.installation, "mysqlbinlog")


def mysqlbinlog_mariadb() -> Program:
    """Return the mariadb-binlog of the MariaDB server that the tests install."""
    return _mysqlbinlog(mariadb_install.installation, "mariadb-binlog")


def _mysqlbinlog(find: Callable[[], Installation], name: str) -> Program:
    try:
        return Printing((*find().command(name), *PRINT_ROWS))
    except UnavailableError as error:
        raise CannotBuildError(str(error)) from error


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
    return ("java", "-cp", java_classpath(SOURCES / "mysql_binlog_connector_java"), "Peer")


def _build_venv(sources: Path, target: Path) -> None:
    output([sys.executable, "-m", "venv", "--without-pip", str(target)])
    pip = [sys.executable, "-m", "pip", "--python", str(target / "bin/python"), "install"]
    output([*pip, "--quiet", "--require-hashes", "-r", str(sources / "requirements.txt")])
