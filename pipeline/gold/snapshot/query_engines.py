"""Readers of gold tables by Spark, Polars and Arrow.

Without Spark, tables are read by delta-rs's query engine, which honors renamed and dropped columns
(column mapping) and deletion vectors: Polars refuses tables that have the former, delta-rs's
pyarrow reader tables that have either. Spark is started for its own engine only.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from contextlib import suppress
from importlib import import_module
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, Literal, TypeAlias

from pipeline.errors import (
    MissingRequirementError,
    SettingsError,
    UnreachableError,
    sentence_of,
)
from pipeline.gold.snapshot.table_versions import (
    LostSnapshotError,
    SnapshotEntry,
    arrow_table,
    name_of,
    opened,
)
from pipeline.lake.tables.native import native_tables
from pipeline.settings import Settings

if TYPE_CHECKING:
    from pipeline.lake.tables.tables import Tables

QueryEngine = Literal["spark", "polars", "arrow"]
ReadTable: TypeAlias = Callable[[str, SnapshotEntry], Any]
"""Reads a gold table: its reference, and its entry in the snapshot's row."""


def by_spark(settings: Settings) -> tuple[Tables, ReadTable]:
    """Return the lake's tables, and a reader that returns lazy Spark DataFrames."""
    try:
        from pyspark.errors import AnalysisException
    except ImportError as error:
        raise _missing("spark", "pyspark", "or read with engine='polars'") from error
    from pipeline.lake import delta
    from pipeline.lake.delta_log.spark_written import has_log
    from pipeline.lake.lazy_spark import started
    from pipeline.lake.tables.choice import tables_of
    from pipeline.spark.session import spark_for

    spark = spark_for(settings)

    def read_table(reference: str, entry: SnapshotEntry) -> Any:
        if has_log(spark, reference):
            with suppress(UnreachableError):  # Spark may have access
                opened(reference, entry)
        version = entry["delta_version"]
        try:
            return delta.read(started(spark), reference, version=version)
        except AnalysisException as error:
            raise LostSnapshotError(name_of(entry), version, sentence_of(error)) from error

    return tables_of(spark, settings.layout), read_table


def _by_arrow(settings: Settings) -> tuple[Tables, ReadTable]:
    tables = native_tables(settings.layout)
    if tables is None or settings.catalog is not None:
        raise SettingsError(
            "without Spark, only tables in folders and object stores can be read, not those of a"
            " catalog.",
            key="engine",
            remedy="Read with engine='spark'.",
        )
    return tables, arrow_table


def _by_polars(settings: Settings) -> tuple[Tables, ReadTable]:
    try:
        from_arrow = import_module("polars").from_arrow
    except ImportError as error:
        raise _missing("polars", "polars", "or read with engine='arrow'") from error
    tables, read_table = _by_arrow(settings)
    return tables, lambda reference, entry: from_arrow(read_table(reference, entry))


ENGINES: Mapping[str, Callable[[Settings], tuple[Tables, ReadTable]]] = MappingProxyType(
    {"spark": by_spark, "polars": _by_polars, "arrow": _by_arrow}
)
"""For each engine, a function that returns a lake's tables, and a reader of gold's."""


def _missing(engine: str, package: str, otherwise: str) -> MissingRequirementError:
    return MissingRequirementError(
        f"engine='{engine}' needs {package}, which is not installed.",
        remedy=f"pip install 'binlake[{engine}]', {otherwise}.",
    )
