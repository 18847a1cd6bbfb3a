"""Models of tables of bronze, silver and the ledger, and of commits and files."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any

import pyarrow as pa

LogEntry = Mapping[str, Any]
"""A file's entry in the log, as `DeltaTable.get_add_actions` returns it: `path`, `size_bytes`,
`partition`, `min`, `max`, `null_count`, …"""


@dataclass(frozen=True, slots=True)
class LakeTable:
    """The definition of a table that only Binlake writes.

    `reference`: a path, or a name in a catalog, quoted with backquotes. `schema` includes the
    partition columns. `statistics`: the columns whose minimum and maximum each commit records,
    for file skipping; those of a lake's own tables are integers and strings. `properties`: Delta's,
    set at the first commit.
    """

    reference: str
    schema: pa.Schema
    partition_by: tuple[str, ...] = ()
    statistics: tuple[str, ...] = ()
    properties: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class DeltaState:
    """A table's state by its log: Delta's `id`, properties, number of files and their bytes.

    `rows`: the rows in these files, including those marked by deletion vectors; None if unknown.
    `features`: see `spark_written.features`.
    """

    id: str
    properties: Mapping[str, str]
    files: int
    bytes: int
    rows: int | None
    features: frozenset[str] = frozenset()


@dataclass(frozen=True, slots=True)
class Commit:
    """A commit of a table's history, with Delta's `metrics` and `parameters` of its operation;
    `note`: see `pipeline.lake.delta_step.Step`."""

    version: int
    at: datetime
    operation: str
    metrics: Mapping[str, str] = field(default_factory=dict)
    note: str | None = None
    parameters: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class DataFile:
    """A Parquet file that is written but not committed yet.

    `folder` is its table's, or one from which Spark appends it; `name` is its name there; `size` is
    in bytes. `statistics`: in the form of Delta's log (`minValues`, `maxValues`, `nullCount`).
    `partition`: the values of its partition columns.
    """

    folder: str
    name: str
    size: int
    rows: int
    statistics: Mapping[str, Mapping[str, Any]]
    partition: Mapping[str, str | None] = field(default_factory=dict)
