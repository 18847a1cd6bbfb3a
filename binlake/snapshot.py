"""`read`: all gold tables of one published snapshot, by Spark, Polars or Arrow."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime
from typing import TYPE_CHECKING, Any, Literal, overload

import pyarrow as pa

from binlake.arguments import GivenSettings, settings_from
from pipeline.gold.snapshot import QueryEngine, Snapshot, read_snapshot

if TYPE_CHECKING:
    import polars
    from pyspark.sql import DataFrame


@overload
def read(
    lake: GivenSettings,
    at: str | int | datetime | None = None,
    *,
    engine: Literal["spark"] = "spark",
    source: str | None = None,
    tables: Sequence[str] = (),
) -> Snapshot[DataFrame]: ...


@overload
def read(
    lake: GivenSettings,
    at: str | int | datetime | None = None,
    *,
    engine: Literal["polars"],
    source: str | None = None,
    tables: Sequence[str] = (),
) -> Snapshot[polars.DataFrame]: ...


@overload
def read(
    lake: GivenSettings,
    at: str | int | datetime | None = None,
    *,
    engine: Literal["arrow"],
    source: str | None = None,
    tables: Sequence[str] = (),
) -> Snapshot[pa.Table]: ...


def read(
    lake: GivenSettings,
    at: str | int | datetime | None = None,
    *,
    engine: QueryEngine = "spark",
    source: str | None = None,
    tables: Sequence[str] = (),
) -> Snapshot[Any]:
    """Return all gold tables of one published snapshot by `schema.table`, each as a DataFrame.

    `lake`: its folder, a settings file, or a Settings. `at`: the last snapshot that has nothing
    later than a time (`2026-11-22T10:00:00+01:00`; UTC without an offset), a GTID, `FILE:POSITION`
    or an LSN; None for the last one. `source`: needed if a lake has several. `tables`: patterns
    over `schema.table`.

    `engine`: `spark` returns lazy Spark DataFrames, of the active session or a new one.
    `polars` (a DataFrame) and `arrow` (a pyarrow Table) need no Spark, and read the tables into
    memory. All read the Delta versions that the snapshot names, whatever was written later.

    Raises SettingsError if there is no such snapshot, LostSnapshotError if maintenance has removed
    it, MissingRequirementError if the engine's package is not installed.
    """
    settings = settings_from(lake, {"source": source}).require("lake")
    return read_snapshot(settings, at, engine=engine, patterns=tables)
