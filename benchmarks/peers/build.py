"""How each of the other decoders is built, or found where the tests have it installed."""

from __future__ import annotations

import os
import shutil
import sys
from collections.abc import Callable
from pathlib import Path

from benchmarks.building import CannotBuildError, built, java_classpath
from benchmarks.peers.programs import Printing, Program, Reporting, output
from tests.support.servers import mariadb_install, mysql_install
from tests.support.servers.debian import UnavailableError
from tests.support.servers.installation import Installation

SOURCES = Path(__file__).parent
PRINT_ROWS = ("--verbose", "--base64-output=decode-rows")


def go_mysql() -> Program:
    """By `go build`; go.mod and go.sum pin it."""
    target = built(SOURCES / "go_mysql", _build_go, needs=("go",))
    return Reporting((str(target / "peer"),), passes=2)


def mysql_common() -> Program:
    """By `cargo build --release`; Cargo.toml pins it (a Cargo.lock would name its registry)."""
    target = built(SOURCES / "mysql_common", _build_cargo, needs=("cargo",))
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
    target = built(SOURCES / "mysql_replication", _build_venv, needs=())
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
