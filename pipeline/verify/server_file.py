"""Read the file that `snapshot` wrote on a server with Spark: tables, sums, and rows' keys."""

from __future__ import annotations

import json
from collections.abc import Collection, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from pyspark.errors import AnalysisException
from pyspark.sql import DataFrame, SparkSession, functions as sf

from pipeline.errors import SettingsError
from pipeline.lake.locks.lock import local_path
from pipeline.schema_history import TableName
from pipeline.verify.chunks import Chunking, ChunkSum
from pipeline.verify.gold_table import GoldColumn
from pipeline.verify.snapshot import FORMAT, HEADER

HASHES = "table int, chunk int, hash binary, key string"
"""Columns of the server's rows: table number, chunk, hash, and key as JSON."""
_MAKE = "Generate it with the script that binlake verify --script writes."


@dataclass(frozen=True, slots=True)
class ServerTable:
    """A table on the server; `number` identifies it in the file.

    `key`: names of the key columns, empty for a keyless table. `transactional`: its engine supports
    consistent snapshots. `keys`: the file has each row's hash and key. `chunks`: the sums of those
    of its `count` chunks that have rows. `changed`: the server's error if the table was altered or
    locked after the snapshot began, and could not be read.
    """

    number: int
    name: TableName
    columns: tuple[GoldColumn, ...]
    key: tuple[str, ...]
    transactional: bool
    keys: bool
    rows: int
    checksum: str
    count: int
    chunks: Mapping[int, ChunkSum]
    changed: str | None = None

    @property
    def chunking(self) -> Chunking:
        """The assignment of its rows to chunks."""
        names = [column.name for column in self.columns]
        return Chunking(self.count, tuple(names.index(name) for name in self.key))


@dataclass(frozen=True, slots=True)
class ServerFile:
    """A server's file: the snapshot's position, each table's sums, and each row's hash (`hashes`).

    `gtid_set` is empty without GTIDs, `file` None without a binary log. `has_gtids`: every
    transaction has a GTID, so that an empty set means that nothing was executed. `gtids_logged`:
    the GTIDs in the state of MariaDB's own log.
    """

    hashes: DataFrame
    server: str
    at: str
    zero_dates: str
    patterns: tuple[str, ...]
    gtid_set: str
    file: str | None
    position: int | None
    tables: Mapping[TableName, ServerTable]
    server_id: int = 0
    has_gtids: bool = False
    gtids_logged: str = ""

    def rows(self, table: ServerTable, chunks: Collection[int] | None) -> DataFrame:
        """Return the hash and the key of each row in these chunks (None: in all), as
        `gold_table.keyed` does for gold."""
        own = self.hashes.where(sf.col("table") == table.number)
        if chunks is not None:
            own = own.where(sf.col("chunk").isin(*chunks))
        return own.select("hash", "key")


def read_server_file(spark: SparkSession, path: str) -> ServerFile:
    """Read all but the rows. Raises SettingsError for a file that is invalid or incomplete."""
    lines = _lines(spark, path)
    described = lines.where(~sf.col("value").startswith("[")).collect()
    try:
        objects = [json.loads(row["value"]) for row in described]
        header = next(found for found in objects if HEADER in found)
        count = next(found["tables"] for found in objects if "tables" in found)
        if header[HEADER] != FORMAT:
            raise _wrong(path, f"has the format {header[HEADER]}, but this release reads {FORMAT}.")
        ends = {found["end"]: found for found in objects if "end" in found}
        tables = [_table(found, ends) for found in objects if "table" in found]
    except (ValueError, KeyError, TypeError, StopIteration) as error:
        raise _wrong(path, "is not a complete file of a server's checksums.") from error
    if len(tables) != count:
        raise _wrong(path, f"should have {count} tables, but has {len(tables)}.")
    rows = header["rows"]
    return ServerFile(
        _in_lines(lines) if rows is None else spark.read.schema(HASHES).parquet(_place(rows)),
        header["server"],
        header["at"],
        header["zero_dates"],
        tuple(header["patterns"]),
        header["gtid_set"],
        header["file"],
        header["position"],
        {table.name: table for table in tables},
        header["server_id"],
        header["has_gtids"],
        header["gtids_logged"],
    )


def _in_lines(lines: DataFrame) -> DataFrame:
    """Parse the hashes and keys in the file itself: [number,chunk,"hash",key]."""
    line = sf.col("value")
    parts = sf.split(sf.expr("substring(value, 2, length(value) - 2)"), ",", 4)
    return lines.where(line.startswith("[")).select(
        parts[0].cast("int").alias("table"),
        parts[1].cast("int").alias("chunk"),
        sf.unhex(sf.translate(parts[2], '"', "")).alias("hash"),
        parts[3].alias("key"),
    )


def _lines(spark: SparkSession, path: str) -> DataFrame:
    try:
        return spark.read.text(_place(path))
    except AnalysisException as error:
        raise _wrong(path, f"cannot be read ({error.getCondition()}).") from error


def _place(path: str) -> str:
    """Return a path as a URI for Spark; URLs are returned as they are."""
    local = local_path(path)
    return path if local is None else Path(local).resolve().as_uri()


def _table(begin: Mapping[str, Any], ends: Mapping[int, Mapping[str, Any]]) -> ServerTable:
    end = ends[begin["table"]]
    return ServerTable(
        begin["table"],
        TableName(begin["schema"], begin["name"]),
        tuple(GoldColumn(name, kind) for name, kind in begin["columns"]),
        tuple(begin["key"]),
        begin["transactional"],
        begin["keys"],
        end["rows"],
        end["checksum"],
        begin["chunks"],
        {chunk: ChunkSum(rows, int(total, 16)) for chunk, rows, total in end["chunks"]},
        end.get("changed"),
    )


def _wrong(path: str, reason: str) -> SettingsError:
    return SettingsError(f"{path} {reason}", key="against", remedy=_MAKE)
