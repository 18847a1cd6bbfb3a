"""What a table of bronze, silver or the ledger is, and what is committed to it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
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
    `version` its batch. A step whose version an app has reached is done, whatever its rows."""

    app: str
    version: int


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
