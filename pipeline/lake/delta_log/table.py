"""What a table of bronze, silver or the ledger is, and what is committed to it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any

import pyarrow as pa


@dataclass(frozen=True, slots=True)
class LakeTable:
    """A table that Binlake alone writes: where it is, and what it is made with.

    `reference`: a path, or, quoted with backquotes, a name in a catalog. `schema` has the partition
    columns too. `statistics`: the columns whose least and greatest value each commit tells, by
    which files are skipped: integers and strings. `properties`: Delta's, from the first commit on.
    """

    reference: str
    schema: pa.Schema
    partition_by: tuple[str, ...] = ()
    statistics: tuple[str, ...] = ()
    properties: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Step:
    """A commit that may be repeated: `app` is what writes the table (layer, source and table),
    `version` its batch. A step whose version an app has reached is done, whatever its rows.

    `note`: what the commit carries as Delta's user metadata, by which `Commit`s are found again."""

    app: str
    version: int
    note: str | None = None


@dataclass(frozen=True, slots=True)
class TableState:
    """A table as its log has it now: Delta's `id`, its properties, its files and their bytes.

    `rows`: in these files, with those that deletion vectors strike out; None if not known.
    """

    id: str
    properties: Mapping[str, str]
    files: int
    bytes: int
    rows: int | None


@dataclass(frozen=True, slots=True)
class Commit:
    """A commit of a table's history; `metrics`, `note` (see `Step`) and `parameters` of its
    operation as Delta has them."""

    version: int
    at: datetime
    operation: str
    metrics: Mapping[str, str] = field(default_factory=dict)
    note: str | None = None
    parameters: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class DataFile:
    """A Parquet file that was written and that no commit names yet.

    `folder` is its table's, or a place from which Spark appends it, and `name` its name there;
    `size` is in bytes. `statistics`: as Delta's log has them
    (`minValues`, `maxValues`, `nullCount`). `partition`: the values of its partition columns.
    """

    folder: str
    name: str
    size: int
    rows: int
    statistics: Mapping[str, Mapping[str, Any]]
    partition: Mapping[str, str | None] = field(default_factory=dict)
