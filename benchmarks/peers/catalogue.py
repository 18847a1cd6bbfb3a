"""The other decoders: how each is had, and what of our work each leaves undone."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

from benchmarks.peers import build
from benchmarks.peers.programs import Program

MIXED, BULK = "mixed", "bulk"
"""The files: `benchmarks.workload` and `benchmarks.bulk`."""


@dataclass(frozen=True, slots=True)
class Peer:
    """Another decoder.

    `undone`: what it leaves undone of checksums, charsets, JSON and times. `refuses`: why it cannot
    read a file at all. `rounds`: run only so often, being slow. `warmed`: it decodes the file again
    and again in one process and its fastest pass counts, as no program that decodes logs does.
    """

    name: str
    version: str
    build: Callable[[], Program]
    undone: str
    refuses: Mapping[str, str] = field(default_factory=dict)
    rounds: int | None = None
    warmed: bool = False


PEERS = (
    Peer(
        "mysql-binlog-connector-java",
        "0.30.1 (Maven)",
        build.mysql_binlog_connector_java,
        "checksums cut off unread; JSON left as bytes; VARCHAR read in one charset for all columns",
    ),
    Peer(
        "mysql-binlog-connector-java, JSON as text",
        "0.30.1 (Maven)",
        build.mysql_binlog_connector_java_with_json,
        "checksums cut off unread; VARCHAR read in one charset for all columns",
    ),
    Peer(
        "mysql-binlog-connector-java, warmed up",
        "0.30.1 (Maven)",
        build.mysql_binlog_connector_java_warmed,
        "as the first; the fastest of five passes over the same file, with all code compiled",
        warmed=True,
    ),
    Peer(
        "go-mysql",
        "1.16.0 (Go)",
        build.go_mysql,
        "text left in its charset; decimals as text",
    ),
    Peer(
        "mysql_common",
        "0.38.0 (crate)",
        build.mysql_common,
        "checksums cut off unread; text left in its charset; JSON left as bytes, decimals as text",
    ),
    Peer(
        "mysqlbinlog of MySQL",
        "9.7 (Debian)",
        build.mysqlbinlog_mysql,
        "checksums not verified; text left in its charset; prints, keeps no values",
    ),
    Peer(
        "mysqlbinlog of MariaDB",
        "10.11 (Debian)",
        build.mysqlbinlog_mariadb,
        "checksums not verified; text left in its charset; prints, keeps no values",
        refuses={MIXED: "stops at the first JSON value, a type that MariaDB has not"},
    ),
    Peer(
        "mysql-replication",
        "1.0.17 (PyPI)",
        build.mysql_replication,
        "checksums cut off unread; JSON as Python's objects",
        rounds=1,
    ),
)
