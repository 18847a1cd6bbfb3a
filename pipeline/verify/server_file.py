"""The file that `snapshot` wrote on a server, read by Spark: its tables, and the keys of one."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from pyspark.errors import AnalysisException
from pyspark.sql import DataFrame, SparkSession, functions as sf

from pipeline.catalog.effects import TableName
from pipeline.errors import SettingsError
from pipeline.lock import local_path
from pipeline.verify.canonical import HASH_BYTES
from pipeline.verify.gold_table import GoldColumn
from pipeline.verify.snapshot import FORMAT, HEADER

_MAKE = "Make it with the script of binlake verify --script."


@dataclass(frozen=True, slots=True)
class ServerTable:
    """A table of the server's: `number` is its own in the file; `key` is empty for a bag.

    `transactional`: its engine takes part in the snapshot; `keys`: the file has a line of each row.
    `changed`: why it could not be read, altered as it was behind the snapshot's begin.
    """

    number: int
    name: TableName
    columns: tuple[GoldColumn, ...]
    key: tuple[str, ...]
    transactional: bool
    keys: bool
    rows: int
    checksum: str
    changed: str | None = None


@dataclass(frozen=True, slots=True)
class ServerFile:
    """The file: where in its log the server was, and what each table came to.

    `gtid_set` is empty and `file` None where the server had none.
    """

    lines: DataFrame
    server: str
    at: str
    zero_dates: str
    patterns: tuple[str, ...]
    gtid_set: str
    file: str | None
    position: int | None
    tables: Mapping[TableName, ServerTable]

    def rows(self, table: ServerTable) -> DataFrame:
        """The hash and the key of each of a table's rows, as `gold_table.keyed` gives them."""
        begin = f'[{table.number},"'
        hash_at, hash_length = len(begin) + 1, 2 * HASH_BYTES
        key_at = hash_at + hash_length + 2
        line = sf.col("value")
        return self.lines.where(line.startswith(begin)).select(
            sf.substring(line, hash_at, hash_length).alias("hash"),
            sf.expr(f"substring(value, {key_at}, length(value) - {key_at})").alias("key"),
        )


def read_server_file(spark: SparkSession, path: str) -> ServerFile:
    """Read all but the rows. Raises SettingsError for a file that is none, or not whole."""
    lines = _lines(spark, path)
    told = lines.where(~sf.col("value").startswith("[")).collect()
    try:
        objects = [json.loads(row["value"]) for row in told]
        header = next(found for found in objects if HEADER in found)
        count = next(found["tables"] for found in objects if "tables" in found)
        if header[HEADER] != FORMAT:
            raise _wrong(path, f"is of format {header[HEADER]}, and this release reads {FORMAT}.")
        ends = {found["end"]: found for found in objects if "end" in found}
        tables = [_table(found, ends) for found in objects if "table" in found]
    except (ValueError, KeyError, TypeError, StopIteration) as error:
        raise _wrong(path, "is no whole file of a server's checksums.") from error
    if len(tables) != count:
        raise _wrong(path, f"should have {count} tables, and has {len(tables)}.")
    return ServerFile(
        lines,
        header["server"],
        header["at"],
        header["zero_dates"],
        tuple(header["patterns"]),
        header["gtid_set"],
        header["file"],
        header["position"],
        {table.name: table for table in tables},
    )


def _lines(spark: SparkSession, path: str) -> DataFrame:
    local = local_path(path)
    place = path if local is None else Path(local).resolve().as_uri()
    try:
        return spark.read.text(place)
    except AnalysisException as error:
        raise _wrong(path, f"cannot be read ({error.getCondition()}).") from error


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
        end.get("changed"),
    )


def _wrong(path: str, reason: str) -> SettingsError:
    return SettingsError(f"{path} {reason}", key="against", remedy=_MAKE)
