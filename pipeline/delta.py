"""The only place that writes Delta tables: every write of data is a step that may be repeated.

A step is named by `app` (layer, source and table) and `version` (its batch), which Delta keeps in
the commit itself as a transaction identifier. A step whose version an app has reached already is
skipped by Delta whatever its data, so versions of an app only grow and a step's data never
changes. Two runs at the same step conflict; the loser looks again and finds it done. So after any
of these functions returns the step is done, and by whom makes no difference.

A table is a path, or, quoted with backquotes, a name in a catalog.

Written for delta-spark 4.4, where options carry the identifier of a DataFrame write and session
settings that of MERGE, UPDATE and DELETE.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from typing import TypeVar

from delta.exceptions import (
    ConcurrentAppendException,
    ConcurrentDeleteDeleteException,
    ConcurrentDeleteReadException,
    ConcurrentTransactionException,
    ConcurrentWriteException,
    DeltaConcurrentModificationException,
    MetadataChangedException,
    ProtocolChangedException,
)
from delta.tables import DeltaMergeBuilder, DeltaTable
from pyspark.errors import AnalysisException
from pyspark.sql import DataFrame, DataFrameWriter, SparkSession

from pipeline.errors import ConcurrentRunError
from pipeline.lock import exclusive

ATTEMPTS = 8
"""How often a step is tried again after losing to another commit of the same table."""

CONFLICTS = (
    ConcurrentAppendException,
    ConcurrentDeleteDeleteException,
    ConcurrentDeleteReadException,
    ConcurrentTransactionException,
    ConcurrentWriteException,
    DeltaConcurrentModificationException,
    MetadataChangedException,
    ProtocolChangedException,
)

TXN_APP_ID = "spark.databricks.delta.write.txnAppId"
TXN_VERSION = "spark.databricks.delta.write.txnVersion"

Result = TypeVar("Result")


def commit(action: Callable[[], object], *, app: str, version: int, table: str = "") -> None:
    """Run one Delta commit: every commit of the pipeline passes here, and nowhere else.

    `action` commits at most once, to `table`, and must bear being run again: it is, when another
    writer gets in its way. Raises `ConcurrentRunError` when that never ends.
    """
    for attempt in range(ATTEMPTS):
        try:
            with exclusive(table):
                action()
        except CONFLICTS as conflict:
            if attempt == ATTEMPTS - 1:
                raise ConcurrentRunError(
                    f"Step {version} of {app} lost {ATTEMPTS} times to other writers.",
                    remedy="Run it again once the other run is done.",
                ) from conflict
            time.sleep(0.1 * 2**attempt)
        else:
            return


def exists(spark: SparkSession, table: str) -> bool:
    """Whether there is a Delta table (a folder without a commit is none)."""
    if not _is_name(table):
        return DeltaTable.isDeltaTable(spark, table)
    try:
        DeltaTable.forName(spark, table)
    except AnalysisException:
        return False
    return True


def read(spark: SparkSession, table: str, *, version: int | None = None) -> DataFrame:
    """The table as it is now, or as it was at one of its versions."""
    reader = spark.read.format("delta")
    if version is not None:
        reader = reader.option("versionAsOf", version)
    return reader.table(table) if _is_name(table) else reader.load(table)


def open_table(spark: SparkSession, table: str) -> DeltaTable:
    """The table as an object with `merge`, `history`, `detail`, to read or to use in a commit."""
    if _is_name(table):
        return DeltaTable.forName(spark, table)
    return DeltaTable.forPath(spark, table)


def append_once(
    rows: DataFrame,
    table: str,
    *,
    app: str,
    version: int,
    partition_by: Sequence[str] = (),
    options: Mapping[str, str] | None = None,
) -> None:
    """Append `rows` as one step; creates the table where there is none.

    A step that is done costs no job: `rows` is not evaluated.
    """
    writer = rows.write.format("delta").mode("append").options(**(options or {}))
    _write_once(writer, table, app=app, version=version, partition_by=partition_by)


def append(
    rows: DataFrame,
    table: str,
    *,
    app: str,
    partition_by: Sequence[str] = (),
    options: Mapping[str, str] | None = None,
) -> None:
    """Append rows that tell of what was done, and are no step of it; creates the table.

    Without an identifier: rows of runs at the same time must not displace each other, and none is
    kept for each row for ever. Rows should have an identity of their own.
    """
    writer = rows.write.format("delta").mode("append").options(**(options or {}))
    writer = writer.partitionBy(*partition_by) if partition_by else writer
    commit(lambda: _save(writer, table), app=app, version=0, table=table)


def overwrite_once(
    rows: DataFrame,
    table: str,
    *,
    app: str,
    version: int,
    partition_by: Sequence[str] = (),
    options: Mapping[str, str] | None = None,
) -> None:
    """Replace rows and schema of the table by `rows` as one step (its older versions stay)."""
    writer = rows.write.format("delta").mode("overwrite").option("overwriteSchema", "true")
    writer = writer.options(**(options or {}))
    _write_once(writer, table, app=app, version=version, partition_by=partition_by)


def replace_once(
    rows: DataFrame,
    table: str,
    *,
    where: str,
    app: str,
    version: int,
    partition_by: Sequence[str],
) -> None:
    """Replace the rows `where` holds by `rows`, for which it holds too, as one step.

    Cheap where the condition names partitions: then no row is read.
    """
    writer = rows.write.format("delta").mode("overwrite").option("replaceWhere", where)
    _write_once(writer, table, app=app, version=version, partition_by=partition_by)


def merge_once(
    rows: DataFrame,
    table: str,
    *,
    on: str,
    app: str,
    version: int,
    clauses: Callable[[DeltaMergeBuilder], DeltaMergeBuilder],
) -> dict[str, int] | None:
    """MERGE `rows` (as `s`) into the table (as `t`) `on` a condition, as one step.

    `clauses` adds the whenMatched… clauses. Gives Delta's counts (`num_affected_rows`, …), or
    None where the step was done before.
    """

    def merge(session: SparkSession) -> dict[str, int] | None:
        target = open_table(session, table).alias("t")
        metrics = clauses(target.merge(rows.alias("s"), on)).execute().collect()
        return metrics[0].asDict() if metrics else None

    return execute_once(rows.sparkSession, merge, table, app=app, version=version)


def execute_once(
    spark: SparkSession,
    action: Callable[[SparkSession], Result],
    table: str,
    *,
    app: str,
    version: int,
) -> Result | None:
    """Run one MERGE, UPDATE or DELETE of `table` as a step, in a session of its own.

    `action` gets that session and must open the table in it: the settings of the session that
    the table is opened in are the ones that count. Gives what `action` returns.
    """
    session = own_session(spark, {TXN_APP_ID: app, TXN_VERSION: str(version)})
    results: list[Result] = []
    try:
        commit(lambda: results.append(action(session)), app=app, version=version, table=table)
    finally:
        session.conf.unset(TXN_APP_ID)
        session.conf.unset(TXN_VERSION)
    return results[-1] if results else None


def own_session(spark: SparkSession, conf: Mapping[str, str]) -> SparkSession:
    """A session beside `spark`, with its settings and `conf`, which no other thread sees."""
    session = _clone(spark)
    for key, value in conf.items():
        session.conf.set(key, value)
    return session


def _clone(spark: SparkSession) -> SparkSession:
    """Spark Connect's clone, or the same of the Java session that another SparkSession stands for.

    PySpark's newSession would start from the application's settings, and to bring the session's own
    along is hundreds of calls.
    """
    clone = getattr(spark, "cloneSession", None)
    if clone:
        connected: SparkSession = clone()
        return connected
    return type(spark)(spark.sparkContext, spark._jsparkSession.cloneSession())


def _write_once(
    writer: DataFrameWriter,
    table: str,
    *,
    app: str,
    version: int,
    partition_by: Sequence[str],
) -> None:
    writer = writer.option("txnAppId", app).option("txnVersion", version)
    if partition_by:
        writer = writer.partitionBy(*partition_by)
    commit(lambda: _save(writer, table), app=app, version=version, table=table)


def _save(writer: DataFrameWriter, table: str) -> None:
    if _is_name(table):
        writer.saveAsTable(table)
    else:
        writer.save(table)


def _is_name(table: str) -> bool:
    return table.startswith("`")
