"""`read`: all gold tables of one published snapshot, by Spark, Polars or Arrow.

Without Spark, tables are read by delta-rs's query engine, which honours renamed and dropped columns
(column mapping) and deletion vectors: Polars refuses tables that have the former, delta-rs's
pyarrow reader tables that have either. Spark is started for its own engine only.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from datetime import datetime
from importlib import import_module
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, Generic, Literal, TypeAlias, TypeVar, overload

import pyarrow as pa
from deltalake import DeltaTable, QueryBuilder
from deltalake.exceptions import DeltaError

from binlake.arguments import Given, settings_from
from pipeline.errors import (
    BinlakeError,
    MissingRequirementError,
    SettingsError,
    UnreachableError,
    sentence_of,
)
from pipeline.gold.plan.published_cuts import CutRow, find_cut
from pipeline.gold.table.names import gold_name
from pipeline.lake import stores
from pipeline.lake.delta_log import delta_rs
from pipeline.lake.tables.native import native_tables
from pipeline.settings import Settings
from pipeline.settings.settings import matches
from pipeline.settings.until import Until

if TYPE_CHECKING:
    import polars
    from pyspark.sql import DataFrame

    from pipeline.lake.tables.tables import Tables

Frame = TypeVar("Frame")
Engine = Literal["spark", "polars", "arrow"]
Entry: TypeAlias = Mapping[str, Any]
"""A table's entry in the row of a published snapshot (`published_cuts.TABLES`)."""
Reader: TypeAlias = Callable[[str, Entry], Any]
"""Reads a gold table: its reference, and its entry in the cut's row."""
_NOT_FOUND = "not found"


class LostSnapshotError(BinlakeError):
    """A snapshot names a version of `table` (`schema.table`) that is no longer there."""

    def __init__(self, table: str, version: int, cause: str) -> None:
        super().__init__(
            f"{table} cannot be read at version {version}, which the snapshot names: {cause}",
            remedy="Read a later snapshot: maintenance removes what is older than retention.cuts,"
            " and a table that was made again has no earlier versions.",
        )
        self.table = table
        self.version = version


class Snapshot(dict[str, Frame], Generic[Frame]):
    """The tables of one published snapshot by `schema.table`: together, a state of the source.

    `lsn`, `gtid_set` (None if the log has no GTIDs) and `committed_at` are of the last
    transaction in it. `held`: held tables, which are at an earlier commit; `incomplete`:
    tables that do not claim to equal the source's, because they lack rows from before the log, or
    because the source has dropped them.
    """

    def __init__(self, cut: CutRow, frames: Mapping[str, Frame]) -> None:
        super().__init__(frames)
        self.source = cut.source
        self.lsn = cut.lsn
        self.gtid_set = cut.gtid_set
        self.committed_at = cut.committed_at
        entries = [entry for entry in cut.tables if _name(entry) in frames]
        self.held = frozenset(_name(entry) for entry in entries if entry["held"])
        self.incomplete = frozenset(_name(entry) for entry in entries if not entry["complete"])


@overload
def read(
    lake: Given,
    at: str | int | datetime | None = None,
    *,
    engine: Literal["spark"] = "spark",
    source: str | None = None,
    tables: Sequence[str] = (),
) -> Snapshot[DataFrame]: ...


@overload
def read(
    lake: Given,
    at: str | int | datetime | None = None,
    *,
    engine: Literal["polars"],
    source: str | None = None,
    tables: Sequence[str] = (),
) -> Snapshot[polars.DataFrame]: ...


@overload
def read(
    lake: Given,
    at: str | int | datetime | None = None,
    *,
    engine: Literal["arrow"],
    source: str | None = None,
    tables: Sequence[str] = (),
) -> Snapshot[pa.Table]: ...


def read(
    lake: Given,
    at: str | int | datetime | None = None,
    *,
    engine: Engine = "spark",
    source: str | None = None,
    tables: Sequence[str] = (),
) -> Snapshot[Any]:
    """Return all gold tables of one published snapshot by `schema.table`, each as a DataFrame.

    `lake`: its folder, a settings file, or a Settings. `at`: the last snapshot that has nothing
    later than a time (`2026-11-22T10:00:00+01:00`; UTC without an offset), a GTID, `FILE:POSITION`
    or an LSN; None for the last one. `source`: needed if a lake has several. `tables`: patterns
    over `schema.table`.

    `engine`: `spark` returns lazy Spark DataFrames, of the session that is there or of a new one.
    `polars` (a DataFrame) and `arrow` (a pyarrow Table) need no Spark, and read the tables into
    memory. All read the Delta versions that the snapshot names, whatever was written later.

    Raises SettingsError if there is no such snapshot, LostSnapshotError if maintenance has removed
    it, MissingRequirementError if the engine's package is not installed.
    """
    if engine not in _READERS:
        reason = f"{engine!r} is not one of {', '.join(_READERS)}."
        raise SettingsError(reason, key="engine")
    until = None if at is None else _moment(at)
    settings = settings_from(lake, {"source": source}).require("lake")
    lake_tables, reader = _READERS[engine](settings)
    named = "source" in settings.model_fields_set
    cut = find_cut(lake_tables, settings.source if named else None, until)
    entries = {
        name: entry
        for entry in cut.tables
        if entry["delta_version"] is not None and matches(name := _name(entry), tables)
    }

    def frame_of(entry: Entry) -> Any:
        return reader(gold_name(settings, entry["schema"], entry["table"]), entry)

    with ThreadPoolExecutor(settings.parallel_tables) as pool:
        frames = list(pool.map(frame_of, entries.values()))
    return Snapshot(cut, dict(zip(entries, frames, strict=True)))


def _by_spark(settings: Settings) -> tuple[Tables, Reader]:
    try:
        from pyspark.errors import AnalysisException
    except ImportError as error:
        raise _missing("spark", "pyspark", "or read with engine='polars'") from error
    from pipeline.lake import delta
    from pipeline.lake.delta_log.spark_written import has_log
    from pipeline.lake.starting import started
    from pipeline.lake.tables.opening import tables_of
    from pipeline.spark.session import spark_for

    spark = spark_for(settings)

    def read_table(reference: str, entry: Entry) -> Any:
        if has_log(spark, reference):
            with suppress(UnreachableError):  # Spark may know the way
                _opened(reference, entry)
        version = entry["delta_version"]
        try:
            return delta.read(started(spark), reference, version=version)
        except AnalysisException as error:
            raise LostSnapshotError(_name(entry), version, sentence_of(error)) from error

    return tables_of(spark, settings.layout), read_table


def _by_arrow(settings: Settings) -> tuple[Tables, Reader]:
    tables = native_tables(settings.layout)
    if tables is None or settings.catalog is not None:
        raise SettingsError(
            "without Spark, only tables in folders and object stores can be read, not those of a"
            " catalog.",
            key="engine",
            remedy="Read with engine='spark'.",
        )
    return tables, _arrow_table


def _by_polars(settings: Settings) -> tuple[Tables, Reader]:
    try:
        from_arrow = import_module("polars").from_arrow
    except ImportError as error:
        raise _missing("polars", "polars", "or read with engine='arrow'") from error
    tables, read_table = _by_arrow(settings)
    return tables, lambda reference, entry: from_arrow(read_table(reference, entry))


_READERS: Mapping[str, Callable[[Settings], tuple[Tables, Reader]]] = MappingProxyType(
    {"spark": _by_spark, "polars": _by_polars, "arrow": _by_arrow}
)


def _arrow_table(reference: str, entry: Entry) -> pa.Table:
    table = _opened(reference, entry)
    try:
        query = QueryBuilder().register("gold", table).execute("SELECT * FROM gold")
        found = pa.table(query.read_all())
    except Exception as error:
        # What the engine says of files is a bare Exception; object stores' clients say it so, too.
        if _NOT_FOUND in str(error):
            raise LostSnapshotError(_name(entry), entry["delta_version"], _line(error)) from error
        if type(error) is Exception or isinstance(error, (DeltaError, OSError)):
            raise delta_rs.unreachable(reference, error) from error
        raise
    # The engine has layouts of its own for text, and the log's metadata is about files.
    fields = [field.remove_metadata() for field in delta_rs.plain(table.schema())]
    return found.cast(pa.schema(fields))


def _opened(reference: str, entry: Entry) -> DeltaTable:
    """Open the table at the version that the snapshot names.

    Raises LostSnapshotError if that is gone, or if another table is there by now, UnreachableError
    if the store does not answer.
    """
    name, version = _name(entry), entry["delta_version"]
    with delta_rs.errors_of(reference):
        table = delta_rs.opened_unchecked(reference, stores.options_for(reference).delta)
    if table is None:
        raise LostSnapshotError(name, version, f"there is no table at {reference}.")
    try:
        table.load_as_version(version)
    except DeltaError as error:
        raise LostSnapshotError(name, version, _line(error)) from error
    if table.metadata().id != entry["delta_id"]:
        raise LostSnapshotError(name, version, f"another table is at {reference} by now.")
    return table


def _moment(at: str | int | datetime) -> Until:
    try:
        return Until.read(at.isoformat() if isinstance(at, datetime) else str(at))
    except ValueError as error:
        raise SettingsError(f"{error}.", key="at") from error


def _name(entry: Entry) -> str:
    return f"{entry['schema']}.{entry['table']}"


def _missing(engine: str, package: str, otherwise: str) -> MissingRequirementError:
    return MissingRequirementError(
        f"engine='{engine}' needs {package}, which is not installed.",
        remedy=f"pip install 'binlake[{engine}]', {otherwise}.",
    )


def _line(error: Exception) -> str:
    """Return the first line of an error of delta-rs: some continue with a stack trace."""
    return f"{str(error).splitlines()[0].rstrip('.')}."
