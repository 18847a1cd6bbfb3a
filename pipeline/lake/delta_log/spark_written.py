"""The log of a table that Spark writes, as gold's are: read by delta-rs, or else asked of Spark.

delta-rs takes milliseconds where Spark takes a job or two after each commit. Spark is asked where a
catalog has the table, where this process cannot read its store, and of a log whose files are
damaged. Source of the checksum file, which tells by what a table is clustered: Delta's PROTOCOL.md,
"Version Checksum File", "Clustered Table" and "Column Mapping".
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
from pipeline.lake.delta_log.delta_rs import opened_as_it_is
from pipeline.lake.delta_log.table import Commit, TableState
from pipeline.lake.delta_log.table_log import commits_of, may_have_rows, names_in_files, state_of
from pipeline.lake.sql_text import is_name, unquoted
from pipeline.lake.starting import Spark, started

_CLUSTERING = "delta.clustering"


def has_log(spark: Spark, table: str) -> bool:
    """Whether this process may find the files of its log: a catalog knows where some tables are,
    and some paths are another place for Spark."""
    return not is_name(table) and not is_elsewhere(spark, table)


def state(spark: Spark, table: str) -> TableState | None:
    """The table now; None where there is none."""
    if has_log(spark, table):
        with suppress(Exception):  # Spark may know the way
            opened = _opened(table)
            return None if opened is None else state_of(opened)
    if not delta.exists(started(spark), table):
        return None
    row = delta.described(started(spark), table)
    return TableState(row["id"], row["properties"], row["numFiles"], row["sizeInBytes"], None)


def properties(spark: Spark, table: str) -> Mapping[str, str] | None:
    """The table's properties now; None where there is none. Without a look at its files."""
    if has_log(spark, table):
        with suppress(Exception):  # Spark may know the way
            opened = _opened(table)
            return None if opened is None else opened.metadata().configuration
    found = state(spark, table)
    return None if found is None else found.properties


def has_none_within(spark: Spark, table: str, ranges: Mapping[str, tuple[Any, Any]]) -> bool | None:
    """Return True if no row has its columns within `ranges` for certain (see `may_have_rows`); None
    where this process cannot read the log."""
    if has_log(spark, table):
        with suppress(Exception):  # Spark may know the way
            return not may_have_rows(_there(table), ranges)
    return None


def clustered_by(spark: Spark, table: str) -> tuple[str, ...]:
    """The columns that a table is clustered by."""
    if has_log(spark, table):
        with suppress(Exception):  # Spark may know the way
            return _clustering(table)
    row = delta.described(started(spark), table)
    return tuple(map(unquoted, row["clusteringColumns"] or ()))


def commits_since(spark: Spark, table: str, before: int | None) -> Sequence[Commit]:
    """A table's commits after version `before`, or all, the newest first: at least that one,
    whatever its version is."""
    if has_log(spark, table):
        with suppress(Exception):  # Spark may know the way
            return _commits_since(table, before)
    commits = history(spark, table, None if before is None else 1)
    if before is not None and commits[0].version - before > 1:
        commits = history(spark, table, commits[0].version - before)
    return commits


def history(spark: Spark, table: str, limit: int | None) -> Sequence[Commit]:
    """The last commits, or all, the newest first, as Spark has them."""
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
    """Return the version of a table that is there."""
    found = version_of(table) if has_log(spark, table) else None
    return history(spark, table, 1)[0].version if found is None else found


def version_of(table: str) -> int | None:
    """The table's version now; None where there is none, or where this process cannot tell."""
    with suppress(Exception):  # each store's client has errors of its own
        opened = None if is_name(table) else _opened(table)
        return None if opened is None else opened.version()
    return None


def _opened(table: str) -> DeltaTable | None:
    return opened_as_it_is(table, stores.options_for(table).delta)


def _there(table: str) -> DeltaTable:
    opened = _opened(table)
    if opened is None:
        raise LookupError(table)
    return opened


def _commits_since(table: str, before: int | None) -> Sequence[Commit]:
    """As the log's files tell; raises LookupError where one is cleaned away, or does not tell."""
    opened = _there(table)
    latest = opened.version()
    first = 0 if before is None else min(before + 1, latest)
    commits = commits_of(opened, latest - first + 1)
    if [commit.version for commit in commits] != list(range(latest, first - 1, -1)):
        raise LookupError(table)
    return commits


def _clustering(table: str) -> tuple[str, ...]:
    """As the checksum file of the latest version has it; raises where that does not tell."""
    opened = _there(table)
    content = stores.content(f"{table}/_delta_log/{opened.version():020d}.crc")
    domains = json.loads(content or b"")["domainMetadata"]
    names = {name: column for column, name in names_in_files(opened).items()}
    paths = [
        path
        for domain in domains
        if domain["domain"] == _CLUSTERING and not domain["removed"]
        for path in json.loads(domain["configuration"])["clusteringColumns"]
    ]
    # By a field of a struct, which a path of more names is, gold's tables are not clustered.
    return tuple(names[name] for (name,) in paths)
