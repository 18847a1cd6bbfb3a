"""The peers: other decoders, how each is built, and the work that each omits."""

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

    `omits`: the work that it omits of checksums, charsets, JSON and times. `refuses`: by file, why
    it cannot read it. `rounds`: the limit for a slow decoder. `warmed`: it decodes the file several
    times in one process and its fastest pass counts, unlike programs in practice.
    """

    name: str
    version: str
    build: Callable[[], Program]
    omits: str
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
        "the same as the first; the fastest of five passes over the same file, with all code"
        " compiled",
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
        refuses={MIXED: "stops at the first JSON value, a type that MariaDB does not have"},
    ),
    Peer(
        "mysql-replication",
        "1.0.17 (PyPI)",
        build.mysql_replication,
        "checksums cut off unread; JSON as Python's objects",
        rounds=1,
    ),
)
