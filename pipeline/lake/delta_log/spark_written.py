"""The Delta log of a table written by Spark, such as gold's, read by delta-rs or else by Spark.

delta-rs takes milliseconds, Spark a job or two after each commit. Spark is used for tables in a
catalog, for stores that this process cannot read, and for logs with damaged files. The checksum
file, which has a table's clustering columns, is specified in Delta's PROTOCOL.md, "Version Checksum
File", "Clustered Table" and "Column Mapping".
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from contextlib import suppress
from datetime import datetime, timezone
from typing import Any

from deltalake import DeltaTable

from pipeline.lake import delta, stores
from pipeline.lake.child_sessions import is_elsewhere
from pipeline.lake.delta_log.column_features import enabled
from pipeline.lake.delta_log.delta_rs import opened_unchecked
from pipeline.lake.delta_log.model import Commit, DeltaState
from pipeline.lake.delta_log.table_log import (
    CLUSTERING,
    commits_of,
    features_of,
    may_have_rows,
    names_in_files,
    size_within,
    state_of,
)
from pipeline.lake.lazy_spark import Spark, started
from pipeline.lake.locks.lock import local_path
from pipeline.lake.sql_text import is_name, unquoted


def has_log(spark: Spark, table: str) -> bool:
    """Return True if this process can locate the files of the table's log: False for names in a
    catalog, and for paths that only Spark's machine has."""
    return not is_name(table) and not is_elsewhere(spark, table)


def local_folder(spark: Spark, table: str) -> str | None:
    """Return the folder of a table on a local disk that this process and Spark both use; None for
    another table."""
    return local_path(table) if has_log(spark, table) else None


def state(spark: Spark, table: str) -> DeltaState | None:
    """Return the table's state now; None if it does not exist."""
    if has_log(spark, table):
        with suppress(Exception):  # Spark may be able to read it
            opened = _opened(table)
            return None if opened is None else state_of(opened)
    if not delta.exists(started(spark), table):
        return None
    row = delta.described(started(spark), table)
    return DeltaState(
        row["id"],
        row["properties"],
        row["numFiles"],
        row["sizeInBytes"],
        None,
        enabled(row["tableFeatures"] or (), row["properties"]),
    )


def properties(spark: Spark, table: str) -> Mapping[str, str] | None:
    """Return the table's properties now, without listing its files; None if it does not exist."""
    if has_log(spark, table):
        with suppress(Exception):  # Spark may be able to read it
            opened = _opened(table)
            return None if opened is None else opened.metadata().configuration
    found = state(spark, table)
    return None if found is None else found.properties


def columns(spark: Spark, table: str) -> list[str]:
    """Return the names of an existing table's columns."""
    if has_log(spark, table):
        with suppress(Exception):  # Spark may be able to read it
            return [field.name for field in _there(table).schema().fields]
    return delta.read(started(spark), table).columns


def features(spark: Spark, table: str) -> frozenset[str]:
    """Return an existing table's features (see `column_features.enabled`)."""
    if has_log(spark, table):
        with suppress(Exception):  # Spark may be able to read it
            return features_of(_there(table))
    row = delta.described(started(spark), table)
    return enabled(row["tableFeatures"] or (), row["properties"])


def has_none_within(spark: Spark, table: str, ranges: Mapping[str, tuple[Any, Any]]) -> bool | None:
    """Return True if certainly no row has its columns within `ranges` (see `may_have_rows`); None
    if this process cannot read the log."""
    if has_log(spark, table):
        with suppress(Exception):  # Spark may be able to read it
            return not may_have_rows(_there(table), ranges)
    return None


def size_of_rows(spark: Spark, table: str, ranges: Mapping[str, tuple[Any, Any]]) -> int | None:
    """Return the bytes of the files that may have rows within `ranges` (see `may_have_rows`); None
    if this process cannot read the log."""
    if has_log(spark, table):
        with suppress(Exception):  # it is only reported
            return size_within(_there(table), ranges)
    return None


def clustered_by(spark: Spark, table: str) -> tuple[str, ...]:
    """Return the columns that a table is clustered by."""
    if has_log(spark, table):
        with suppress(Exception):  # Spark may be able to read it
            return _clustering(table)
    row = delta.described(started(spark), table)
    return tuple(map(unquoted, row["clusteringColumns"] or ()))


def commits_since(spark: Spark, table: str, before: int | None) -> Sequence[Commit]:
    """Return a table's commits after version `before`, or all, latest first; always at least the
    latest."""
    if has_log(spark, table):
        with suppress(Exception):  # Spark may be able to read it
            return _commits_since(table, before)
    commits = history(spark, table, None if before is None else 1)
    if before is not None and commits[0].version - before > 1:
        commits = history(spark, table, commits[0].version - before)
    return commits


def history(spark: Spark, table: str, limit: int | None) -> Sequence[Commit]:
    """Return the last commits, or all, latest first, by Spark."""
    columns = ("version", "operation", "operationParameters", "operationMetrics", "userMetadata")
    rows = delta.history(started(spark), table, limit)
    return [
        Commit(
            row["version"],
            datetime.fromtimestamp(row["at"] / 1_000_000, timezone.utc),
            row["operation"],
            row["operationMetrics"] or {},
            row["userMetadata"],
            row["operationParameters"] or {},
        )
        for row in rows.selectExpr("unix_micros(timestamp) AS at", *columns).collect()
    ]


def latest_version(spark: Spark, table: str) -> int:
    """Return the version of an existing table."""
    found = version_of(table) if has_log(spark, table) else None
    return history(spark, table, 1)[0].version if found is None else found


def version_of(table: str) -> int | None:
    """Return the table's version now; None if it does not exist or this process cannot read it."""
    with suppress(Exception):  # each store's client has errors of its own
        opened = None if is_name(table) else _opened(table)
        return None if opened is None else opened.version()
    return None


def _opened(table: str) -> DeltaTable | None:
    return opened_unchecked(table, stores.options_for(table).delta)


def _there(table: str) -> DeltaTable:
    opened = _opened(table)
    if opened is None:
        raise LookupError(table)
    return opened


def _commits_since(table: str, before: int | None) -> Sequence[Commit]:
    """Read the commits from the log's files; raise LookupError if one is missing or incomplete."""
    opened = _there(table)
    latest = opened.version()
    first = 0 if before is None else min(before + 1, latest)
    commits = commits_of(opened, latest - first + 1)
    if [commit.version for commit in commits] != list(range(latest, first - 1, -1)):
        raise LookupError(table)
    return commits


def _clustering(table: str) -> tuple[str, ...]:
    """Read the clustering columns from the latest checksum file; raise if it lacks them."""
    opened = _there(table)
    content = stores.content(f"{table}/_delta_log/{opened.version():020d}.crc")
    domains = json.loads(content or b"")["domainMetadata"]
    names = {name: column for column, name in names_in_files(opened).items()}
    paths = [
        path
        for domain in domains
        if domain["domain"] == CLUSTERING and not domain["removed"]
        for path in json.loads(domain["configuration"])["clusteringColumns"]
    ]
    # A path of several names is a field of a struct, by which gold's tables are never clustered.
    return tuple(names[name] for (name,) in paths)
