"""Debezium's embedded engine: what it is set to, how it is run, and what it reports."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from benchmarks.building import java_classpath
from benchmarks.debezium.operations import Operations
from benchmarks.peers.counts import ProgramError
from benchmarks.peers.programs import output
from pipeline.spark.java import java_home
from pipeline.spark.session import COLLECTOR

VERSION = "3.5.0.Final"
ENGINE = Path(__file__).parent / "engine"
SETTINGS: Mapping[str, str] = {
    "snapshot.mode": "never",
    # Four times and eight times the default: fewer, larger batches between its threads.
    "max.batch.size": "8192",
    "max.queue.size": "65536",
    # Nothing is kept: neither how far it came, nor what DDL it met.
    "offset.storage": "org.apache.kafka.connect.storage.MemoryOffsetBackingStore",
    "schema.history.internal": "io.debezium.relational.history.MemorySchemaHistory",
    # Only changes of rows, one record each.
    "include.schema.changes": "false",
    "tombstones.on.delete": "false",
    "database.ssl.mode": "disabled",
}
"""What is not as Debezium has it by default, but for names and the connection."""


@dataclass(frozen=True, slots=True)
class Captured:
    """What the engine captured: `seconds` from its first batch to the end of its last one.

    `others`: records that are no changes of rows. `start_seconds`: until the first batch.
    """

    operations: Operations
    others: int
    seconds: float
    start_seconds: float
    java: str


def capture(port: int, expected: Operations, heap: str, folder: Path) -> Captured:
    """Capture all that the server on that port has logged. Raises ProgramError, CannotBuildError.

    It runs on the Java that Spark runs on, with as much memory and the same garbage collector, in a
    process of its own, as a service that catches up does.
    """
    file = folder / "debezium.properties"
    file.write_text(properties(port))
    classpath = java_classpath(ENGINE)
    java = [str(java_home() / "bin" / "java"), f"-Xmx{heap}", COLLECTOR, "-cp", classpath]
    return parse(output([*java, "Capture", str(file), str(expected.total)]))


def properties(port: int) -> str:
    """The file that the engine is given."""
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
    """The line of JSON that the engine's program prints. Raises ProgramError."""
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
        raise ProgramError(f"not a line of what was captured: {error!r}") from error
