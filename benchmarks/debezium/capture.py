"""Debezium's embedded engine: its settings, its process, and its report."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from benchmarks.debezium.operations import Operations
from benchmarks.peers.counts import ProgramError
from benchmarks.peers.programs import output
from benchmarks.third_party import java_classpath
from pipeline.spark.java import java_home
from pipeline.spark.session import COLLECTOR

VERSION = "3.5.0.Final"
ENGINE = Path(__file__).parent / "engine"
SETTINGS: Mapping[str, str] = {
    "snapshot.mode": "never",
    # Four times and eight times the default: fewer, larger batches between its threads.
    "max.batch.size": "8192",
    "max.queue.size": "65536",
    # Offsets and the schema history are kept in memory only.
    "offset.storage": "org.apache.kafka.connect.storage.MemoryOffsetBackingStore",
    "schema.history.internal": "io.debezium.relational.history.MemorySchemaHistory",
    # Only row changes, one record each.
    "include.schema.changes": "false",
    "tombstones.on.delete": "false",
    "database.ssl.mode": "disabled",
}
"""Settings that differ from Debezium's defaults, except names and the connection."""


@dataclass(frozen=True, slots=True)
class Captured:
    """The engine's report: `seconds` from its first batch to the end of its last one.

    `others`: records other than row changes. `start_seconds`: time until the first batch.
    """

    operations: Operations
    others: int
    seconds: float
    start_seconds: float
    java: str


def capture(port: int, expected: Operations, heap: str, folder: Path) -> Captured:
    """Capture the log of the server on `port`. Raises ProgramError, CannotBuildError.

    The engine runs in a process of its own, on Spark's Java, with the same heap and garbage
    collector, like a service that catches up.
    """
    file = folder / "debezium.properties"
    file.write_text(properties(port))
    classpath = java_classpath(ENGINE)
    java = [str(java_home() / "bin" / "java"), f"-Xmx{heap}", COLLECTOR, "-cp", classpath]
    return parse(output([*java, "Capture", str(file), str(expected.total)]))


def properties(port: int) -> str:
    """Return the text of the engine's properties file."""
    named = {
        "name": "bench",
        "topic.prefix": "bench",
        "connector.class": "io.debezium.connector.mysql.MySqlConnector",
        "database.hostname": "127.0.0.1",
        "database.port": str(port),
        "database.user": "root",
        "database.password": "",
        "database.server.id": "4242",
        **SETTINGS,
    }
    return "".join(f"{name}={value}\n" for name, value in named.items())


def parse(printed: str) -> Captured:
    """Parse the line of JSON that the engine's program prints. Raises ProgramError."""
    try:
        found = json.loads(printed)
        return Captured(
            Operations(*(int(found[name]) for name in ("inserts", "updates", "deletes"))),
            int(found["others"]),
            float(found["seconds"]),
            float(found["start_seconds"]),
            str(found["java"]),
        )
    except (ValueError, KeyError, TypeError) as error:
        raise ProgramError(f"Debezium's program printed an invalid report: {error!r}") from error
