"""The only place that writes Delta tables: every write of data is a step that may be repeated.

A step is named by `app` (layer, source and table) and `version` (its batch), which Delta keeps in
the commit itself as a transaction identifier. A step whose version an app has reached already is
skipped by Delta whatever its data, so versions of an app only grow and a step's data never
changes. Two runs at the same step conflict; the loser looks again and finds it done. So after any
of these functions returns the step is done, and by whom makes no difference.

A table is a path, or, quoted with backquotes, a name in a catalog.

All is DataFrames and SQL, which Spark Connect and Databricks have too: Delta's own Python classes
ask for the JVM, or for a plugin in the server. Written for delta-spark 4.4, where options carry the
identifier of a DataFrame write and session settings that of MERGE, UPDATE and DELETE.
"""

from __future__ import annotations

import hashlib
import uuid
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager

from pyspark.errors import AnalysisException, PySparkException
from pyspark.sql import (
    Column,
    DataFrame,
    DataFrameWriter,
    MergeIntoWriter,
    Row,
    SparkSession,
    functions as sf,
)

from pipeline.lake.child_sessions import (
    condition,
    is_connected,
    let_go,
    own_session,
    set_if_allowed,
)
from pipeline.lake.delta_conflicts import ATTEMPTS, is_conflict, never_let, wait_after
from pipeline.lake.locks.lease_guard import require_held
from pipeline.lake.locks.lock import exclusive
from pipeline.lake.sql_text import in_sql, is_name, quoted

NO_TABLE_CONDITIONS = frozenset(
    {
        "DELTA_MISSING_DELTA_TABLE",
        "DELTA_PATH_DOES_NOT_EXIST",
        "DELTA_SCHEMA_NOT_SET",
        "DELTA_TABLE_NOT_FOUND",
        "PATH_NOT_FOUND",
        "SCHEMA_NOT_FOUND",
        "TABLE_OR_VIEW_NOT_FOUND",
    }
)

TXN_APP_ID = "spark.databricks.delta.write.txnAppId"
TXN_VERSION = "spark.databricks.delta.write.txnVersion"
MATERIALIZE = "spark.databricks.delta.merge.materializeSource"
"""Whether a MERGE keeps its rows, which it reads twice: `all`, `none`, `auto`."""
MARKED = 200
"""How far back a table's commits are looked through for a step's mark."""

USER_METADATA = "spark.databricks.delta.commitInfo.userMetadata"
"""The setting with what all commits of a session carry."""

MERGED = "__binlake_merged"
"""What the rows of a MERGE are called in its conditions and values."""


def commit(action: Callable[[], object], *, app: str, version: int, table: str = "") -> None:
    """Run one Delta commit: every commit of the pipeline passes here, and nowhere else.

    `action` commits at most once, to `table`, and must bear being run again: it is, when another
    writer gets in its way. Raises `ConcurrentRunError` when that never ends, `LakeLostError` where
    another run has, or may have, the lake.
    """
    for attempt in range(ATTEMPTS):
        try:
            with exclusive(table):
                require_held(table)
                action()
        except PySparkException as conflict:
            if not is_conflict(conflict):
                raise
            if attempt == ATTEMPTS - 1:
                raise never_let(f"Step {version} of {app}") from conflict
            wait_after(attempt)
        else:
            return


def exists(spark: SparkSession, table: str) -> bool:
    """Whether Spark finds a Delta table (a folder without a commit is none)."""
    try:
        return bool(read(spark, table).schema)
    except AnalysisException as error:
        if condition(error) not in NO_TABLE_CONDITIONS:
            raise
        return False


def read(spark: SparkSession, table: str, *, version: int | None = None) -> DataFrame:
    """The table as it is now, or as it was at one of its versions."""
    reader = spark.read.format("delta")
    if version is not None:
        reader = reader.option("versionAsOf", version)
    return reader.table(table) if is_name(table) else reader.load(table)


def described(spark: SparkSession, table: str) -> Row:
    """What DESCRIBE DETAIL says, as it gives it: a choice of its columns would be planned, and be
    a job more."""
    (row,) = spark.sql(f"DESCRIBE DETAIL {in_sql(table)}").collect()
    return row


def history(spark: SparkSession, table: str, limit: int | None = None) -> DataFrame:
    """A row for each of the last commits, or of all: `version`, `operationMetrics`, …

    At hand once this returns; what is done to it by DataFrames is planned, and may be a job.
    """
    last = "" if limit is None else f" LIMIT {limit}"
    return spark.sql(f"DESCRIBE HISTORY {in_sql(table)}{last}")


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
    writer = _writer(rows, "append", partition_by, options)
    _write_once(writer, table, rows.sparkSession, app=app, version=version)


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
    writer = _writer(rows, "append", partition_by, options)
    commit(lambda: _save(writer, table, rows.sparkSession), app=app, version=0, table=table)


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
    writer = _writer(rows, "overwrite", partition_by, options).option("overwriteSchema", "true")
    _write_once(writer, table, rows.sparkSession, app=app, version=version)


def replace_once(
    rows: DataFrame,
    table: str,
    *,
    where: str,
    app: str,
    version: int,
    partition_by: Sequence[str],
    options: Mapping[str, str] | None = None,
) -> None:
    """Replace the rows `where` holds by `rows`, for which it holds too, as one step.

    Cheap where the condition names partitions: then no row is read.
    """
    if is_name(table):
        writer = _writer(rows, "error", partition_by, options)
        commit(
            lambda: _replace_named(rows, writer, table, where, app, version),
            app=app,
            version=version,
            table=table,
        )
        return
    writer = _writer(rows, "overwrite", partition_by, options).option("replaceWhere", where)
    _write_once(writer, table, rows.sparkSession, app=app, version=version)


def merge_once(
    rows: DataFrame,
    table: str,
    *,
    on: Column,
    clauses: Callable[[MergeIntoWriter], MergeIntoWriter],
    app: str,
    version: int,
    conf: Mapping[str, str] | None = None,
) -> None:
    """MERGE `rows` into the table `on` a condition, as one step.

    `clauses` adds the whenMatched… clauses. Columns are `MERGED` ones, of the rows, or
    `target_column`'s. `conf`: settings of the session that it is done in.
    """
    view = f"binlake_{uuid.uuid4().hex}"
    # The session of the step sees the view, since it is a copy of theirs.
    rows.createOrReplaceTempView(view)

    def merge(session: SparkSession, mark: str | None) -> None:
        matching = on
        if mark is not None:
            if _is_marked(session, table, mark):
                return
            # Always true, which is not for the optimizer to see: the history has what it leaves.
            value = sf.col(merged_column(rows.columns[0])).cast("string")
            matching = on & (sf.coalesce(value, sf.lit("")) != sf.lit(mark))
        merged = session.table(view).alias(MERGED)
        clauses(merged.mergeInto(in_sql(table), matching)).merge()

    try:
        with _step_session(rows.sparkSession, app, version, conf or {}) as (session, mark):
            commit(lambda: merge(session, mark), app=app, version=version, table=table)
    finally:
        rows.sparkSession.catalog.dropTempView(view)


def _is_marked(spark: SparkSession, table: str, mark: str) -> bool:
    """Whether a commit of the table is that step's. A step stands among the last of a batch's."""
    commits = history(spark, table, MARKED).collect()
    told = [(row["operationParameters"] or {}).get("predicate") for row in commits]
    return any(mark in (predicate or "") for predicate in told)


def merged_column(name: str) -> str:
    """A column of the rows, in a MERGE."""
    return f"{MERGED}.{quoted(name)}"


def target_column(table: str, name: str) -> str:
    """A column of the table, in a MERGE into it."""
    return f"{table if is_name(table) else quoted(table)}.{quoted(name)}"


def execute_once(
    spark: SparkSession, statement: str, table: str, *, app: str, version: int
) -> None:
    """Run one UPDATE or DELETE of `table` as a step, which must bear being repeated by itself."""
    with _step_session(spark, app, version, {}) as (session, _):
        commit(lambda: session.sql(statement), app=app, version=version, table=table)


@contextmanager
def _step_session(
    spark: SparkSession, app: str, version: int, conf: Mapping[str, str]
) -> Iterator[tuple[SparkSession, str | None]]:
    """A session of its own for a step that session settings name: no other thread may see them.

    Where they may not be set, as on Databricks' serverless compute, what to mark the step by.
    """
    session = own_session(spark, conf)
    named = set_if_allowed(session, TXN_VERSION, str(version))
    named = set_if_allowed(session, TXN_APP_ID, app) and named
    mark = hashlib.sha256(f"{app}#{version}".encode()).hexdigest()
    try:
        yield session, None if named else mark
    finally:
        if is_connected(session):
            let_go(session)
        else:
            session.conf.unset(TXN_APP_ID)
            session.conf.unset(TXN_VERSION)


def _replace_named(
    rows: DataFrame, creating: DataFrameWriter, table: str, where: str, app: str, version: int
) -> None:
    """DataFrameWriter's overwriting would replace the table by another one of its name."""
    spark = rows.sparkSession
    if not exists(spark, table):
        try:
            _save(_as_step(creating, app, version), table, spark)
        except AnalysisException as error:
            if not condition(error).endswith("TABLE_ALREADY_EXISTS"):
                raise
        else:
            return
    named = rows.writeTo(table).option("txnAppId", app).option("txnVersion", str(version))
    named.overwrite(sf.expr(where))


def _writer(
    rows: DataFrame, mode: str, partition_by: Sequence[str], options: Mapping[str, str] | None
) -> DataFrameWriter:
    writer = rows.write.format("delta").mode(mode).options(**(options or {}))
    return writer.partitionBy(*partition_by) if partition_by else writer


def _as_step(writer: DataFrameWriter, app: str, version: int) -> DataFrameWriter:
    return writer.option("txnAppId", app).option("txnVersion", version)


def _write_once(
    writer: DataFrameWriter, table: str, spark: SparkSession, *, app: str, version: int
) -> None:
    step = _as_step(writer, app, version)
    commit(lambda: _save(step, table, spark), app=app, version=version, table=table)


def _save(writer: DataFrameWriter, table: str, spark: SparkSession) -> None:
    if not is_name(table):
        writer.save(table)
        return
    try:
        writer.saveAsTable(table)
    except AnalysisException as error:
        if condition(error) != "SCHEMA_NOT_FOUND":
            raise
        create_schema(spark, table)
        writer.saveAsTable(table)


def create_schema(spark: SparkSession, table: str) -> None:
    """Make the schema of a table's name, unless it is there: then nobody need be allowed to."""
    schema = table.rsplit(".`", 1)[0]
    if not spark.catalog.databaseExists(schema):
        spark.sql(f"CREATE SCHEMA IF NOT EXISTS {schema}")
