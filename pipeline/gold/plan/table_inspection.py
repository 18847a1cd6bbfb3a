"""Inspection of gold's tables for changes by others, before and after each batch.

A published snapshot records each table's Delta version. If that is still the latest, which the file
names in the Delta log show, nothing else is read; otherwise the commits after it are.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from typing import Any

from pyspark.sql import SparkSession

from pipeline.gold.plan.publication import Cut
from pipeline.gold.table.commits import SIGNATURE, by_others, signs
from pipeline.gold.table.damage import Damage, damage_in, gone
from pipeline.gold.table.names import gold_name
from pipeline.gold.table.state import GoldState
from pipeline.lake import delta, stores
from pipeline.lake.child_sessions import child_session, is_connected, let_go, staying_active
from pipeline.lake.delta_log.spark_written import (
    commits_since,
    has_log,
    state as state_of,
    version_of,
)
from pipeline.lake.lazy_spark import Spark, StartingSpark, running, started
from pipeline.layer import LayerRun
from pipeline.schema_history import TableName
from pipeline.settings import Settings


@contextmanager
def signed_session(spark: Spark) -> Iterator[Spark]:
    """Yield a session derived from `spark` whose commits carry gold's signature, if it may be set.

    It starts with `spark`, when it is first needed.
    """

    def begin() -> SparkSession:
        return child_session(started(spark), {delta.USER_METADATA: SIGNATURE})

    signed = StartingSpark(begin, spark.master) if isinstance(spark, StartingSpark) else begin()
    try:
        yield signed
        if running(signed) is not None:
            # Not after an error, which this could mask: Spark may be gone.
            with staying_active(started(spark)):
                pass
    finally:
        session = running(signed)
        if session is not None and is_connected(session):
            let_go(session)


def inspect(
    run: LayerRun, state: GoldState
) -> tuple[Mapping[TableName, Damage], Mapping[TableName, int]]:
    """Inspect every table of the last published snapshot for changes since.

    Return the damaged ones, and the versions of those that only maintenance has changed.
    """
    damaged: dict[TableName, Damage] = {}
    moved: dict[TableName, int] = {}

    def look(entry: Mapping[str, Any]) -> None:
        name = TableName(entry["schema"], entry["table"])
        before, table = state.tables[name], gold_name(run.settings, name.schema, name.table)
        found = _look(run.spark, table, entry["delta_id"], entry["delta_version"])
        if isinstance(found, Damage):
            damaged[name] = found
        elif before.damage and before.damage.lasts(version_of(table)):
            damaged[name] = before.damage
        elif found is not None:
            moved[name] = found

    entries = Cut.of(run.ledger.record("gold")).tables
    replicated = [entry for entry in entries if _counts(run.settings, state, entry)]
    with ThreadPoolExecutor(run.settings.parallel_tables) as pool:
        list(pool.map(look, replicated))
    return damaged, moved


def _counts(settings: Settings, state: GoldState, entry: Mapping[str, Any]) -> bool:
    """Return True if the table must exist; anyone may remove one that the source dropped."""
    name = TableName(entry["schema"], entry["table"])
    table = state.tables.get(name)
    there = entry["delta_id"] is not None and table is not None and not table.dropped
    return there and settings.wanted(name.schema, name.table)


def _look(spark: Spark, table: str, delta_id: str, before: int) -> Damage | int | None:
    """Return a table's damage, its version if only maintenance changed it, or None if unchanged.

    Tables in a catalog, and those that only Spark can access, are not inspected here: errors during
    the batch and the history read after it show their damage.
    """
    if not has_log(spark, table) or _is_as_left(table, before):
        return None
    try:
        return _looked(spark, table, delta_id, before)
    except Exception as error:
        damage = damage_in(error, table, None)
        if damage is None:
            raise
        return Damage(damage.reason)


def _is_as_left(table: str, before: int) -> bool:
    """Return True if the version exists and is the latest; False if this process cannot see it.

    Each store's client raises its own errors, and Spark, which looks next, may have access.
    """
    try:
        return _has_commit(table, before) and not _has_commit(table, before + 1)
    except Exception:
        return False


def _has_commit(table: str, version: int) -> bool:
    return stores.exists(f"{table}/_delta_log/{version:020d}.json")


def _looked(spark: Spark, table: str, delta_id: str, before: int) -> Damage | int | None:
    found = state_of(spark, table)
    if found is None:
        return gone(table)
    if found.id != delta_id:
        return Damage(f"another table is at {table}, in place of its gold table")
    history = commits_since(spark, table, before)
    latest: int = history[0].version
    if latest < before:
        return Damage(
            f"the Delta log of its gold table {table} ends at version {latest}, but Binlake has"
            f" written version {before}: files of the log are missing"
        )
    commits = [commit for commit in reversed(history) if commit.version > before]
    damage = by_others(spark, table, commits, before) if signs(spark) else None
    return damage or latest
