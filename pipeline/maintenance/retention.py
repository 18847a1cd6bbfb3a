"""Removing what a plan of maintenance says: each table by one commit, which may be repeated.

Published cuts go first, so that none is left whose versions' files are gone. Of silver, changes go
before transactions: what is left of a transaction's rows is never without what says that they were
rolled back. What may be read of all history stays: the timeline, the rows of `bronze/files`, what
was seen before of logs that bronze has, DDL that tells of foreign keys, triggers and routines.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from datetime import datetime, timedelta, timezone

from pyspark.sql import SparkSession

from pipeline import delta
from pipeline.catalog.consequences import TOLD_BY
from pipeline.lake_tables.by_spark import BIG_ROWS
from pipeline.ledger import Ledger, Plan
from pipeline.maintenance.plan import MaintenancePlan
from pipeline.maintenance.tables import Table
from pipeline.progress import Task
from pipeline.sessions import own_session
from pipeline.settings import Settings
from pipeline.sql_text import in_sql, literal


@dataclass(frozen=True, slots=True)
class Removal:
    """Rows of one table that go; `name` is the table's in the lake, and the step's."""

    name: str
    table: str
    where: str


def carry_out(
    spark: SparkSession,
    settings: Settings,
    plan: Plan,
    body: MaintenancePlan,
    silver: list[Table],
    common: Sequence[Removal],
    task: Task,
) -> set[str]:
    """Do all of it, as far as it is not done; the tables that had something to remove.

    `spark` names the batch in the commits. `common` are removals from what sources share.
    """
    touched: set[str] = set()

    def remove(removal: Removal) -> None:
        if _remove(spark, plan, removal):
            touched.add(removal.table)
        task.advance()

    # Lists, so that the first error of any of them is raised.
    for removal in cuts_before(settings, body):
        remove(removal)
    with ThreadPoolExecutor(settings.parallel_tables) as pool:
        list(pool.map(remove, changes_before(body, silver)))
    for removal in (*_others(spark, settings, body), *common):
        remove(removal)
    return touched


def runs_before(settings: Settings, now: datetime) -> Removal:
    """Records of runs, of all sources, that are too old: whole partitions."""
    first = now.astimezone(timezone.utc).date() - timedelta(days=settings.keep_runs)
    where = f"day < DATE'{first.isoformat()}'"
    return Removal("ledger/runs", settings.layout.ledger("runs"), where)


def removals(
    spark: SparkSession, settings: Settings, body: MaintenancePlan, silver: list[Table]
) -> Iterator[Removal]:
    """All of them, in order."""
    yield from cuts_before(settings, body)
    yield from changes_before(body, silver)
    yield from _others(spark, settings, body)


def cuts_before(settings: Settings, body: MaintenancePlan) -> Iterator[Removal]:
    """Published cuts that are too old."""
    if body.cuts_from:
        where = f"{_of(settings)} AND batch < {body.cuts_from}"
        yield Removal("gold/_cuts", settings.layout.cuts, where)


def changes_before(body: MaintenancePlan, silver: list[Table]) -> Iterator[Removal]:
    """Each table's changes before the limit."""
    if body.silver.lsn:
        for table in silver:
            yield Removal(table.name, table.reference, f"__lsn < {body.silver.lsn}")


def _others(spark: SparkSession, settings: Settings, body: MaintenancePlan) -> Iterator[Removal]:
    yield from _of_silver(spark, settings, body)
    yield from _of_bronze(settings, body)
    if names := _cascades(spark, settings, body):
        where = f"{_of(settings)} AND name IN ({', '.join(map(literal, names))})"
        yield Removal("gold/_cascades", settings.layout.cascades, where)


def _of_silver(spark: SparkSession, settings: Settings, body: MaintenancePlan) -> Iterator[Removal]:
    """Transactions, statements and faults that were taken up, before the limit."""
    lake, before = settings.layout, body.silver.lsn
    if not before:
        return
    old = f"{_of(settings)} AND __lsn < {before}"
    if delta.exists(spark, lake.transactions):
        # Where bronze has the log, decoding it again asks what of it was there before.
        columns = delta.read(spark, lake.transactions).columns
        seen = f"coalesce(seen_before, false) AND __lsn >= {body.bronze.need.lsn}"
        stays = seen if "seen_before" in columns else "false"
        yield Removal("silver/transactions", lake.transactions, f"{old} AND NOT ({stays})")
    untold = f"NOT coalesce(query RLIKE {literal(TOLD_BY)}, false)"
    yield Removal("silver/statements", lake.statements, f"{old} AND {untold}")
    yield Removal("silver/quarantine", lake.quarantine, f"{old} AND resolved_batch IS NOT NULL")


def _of(settings: Settings) -> str:
    return f"source = {literal(settings.source)}"


def _of_bronze(settings: Settings, body: MaintenancePlan) -> Iterator[Removal]:
    """The bytes of whole files."""
    if not body.bronze.runs:
        return
    among = (f"ordinal BETWEEN {first} AND {last}" for first, last in body.bronze.runs)
    where = f"{_of(settings)} AND ({' OR '.join(among)})"
    yield Removal("bronze/segments", settings.layout.segments, where)


def _cascades(spark: SparkSession, settings: Settings, body: MaintenancePlan) -> list[str]:
    """What foreign keys did in batches of gold that are finished, as far as it is still there."""
    lake = settings.layout
    if not (body.cascades_upto and delta.exists(spark, lake.cascades)):
        return []
    rows = delta.read(spark, lake.cascades).select("name").distinct().collect()
    there = {row["name"] for row in rows}
    plans = Ledger(spark, lake, settings.source).planned("gold", 1, body.cascades_upto)
    return sorted(there.intersection(plan.get("cascades") for plan in plans)) if there else []


def _remove(spark: SparkSession, plan: Plan, removal: Removal) -> bool:
    """Remove the rows; whether there were any: else there is no commit."""
    if not delta.exists(spark, removal.table):
        return False
    if delta.read(spark, removal.table).where(removal.where).isEmpty():
        return False
    big = removal.name == "bronze/segments"
    session = own_session(spark, BIG_ROWS) if big else spark
    delete = f"DELETE FROM {in_sql(removal.table)} WHERE {removal.where}"
    app = f"maintenance/{plan.source}/{removal.name}"
    delta.execute_once(session, delete, removal.table, app=app, version=plan.batch)
    return True
