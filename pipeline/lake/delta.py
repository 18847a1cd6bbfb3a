"""Idempotent writes of Delta tables by Spark; nothing else in the pipeline writes them with Spark.

Delta stores the `app` and the `version` of a step in its commit, as a transaction identifier. It
skips a step whose version the app has already reached, whatever its data, so an app's versions only
grow and a step's data never changes. Two runs that commit the same step conflict; the loser retries
and finds it committed. So after any of these functions returns, the step is committed, no matter by
which run.

A table is a path or a name in a catalog, quoted with backquotes.

Everything is done by DataFrames and SQL, which Spark Connect and Databricks support: Delta's own
Python classes need the JVM, or a plugin in the server. Written for delta-spark 4.4, where options
carry the identifier of a DataFrame write, and session settings that of MERGE, UPDATE and DELETE.
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
    child_session,
    condition,
    is_connected,
    let_go,
    set_if_allowed,
)
from pipeline.lake.delta_step import ATTEMPTS, Step, conflict_error, is_conflict, wait_after
from pipeline.lake.locks.lease import require_held
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
"""Whether a MERGE materializes its source, which it reads twice: `all`, `none`, `auto`."""
MARKER_COMMITS = 200
"""Number of a table's last commits that are searched for a step's marker."""

USER_METADATA = "spark.databricks.delta.commitInfo.userMetadata"
"""The setting with the user metadata of all commits of a session."""

MERGED = "__binlake_merged"
"""The alias of a MERGE's source rows in its conditions and values."""


def commit(action: Callable[[], object], table: str, step: Step | None = None) -> None:
    """Run one Delta commit, of a step if given; every commit by Spark goes through here.

    `action` commits at most once, to `table`, and must be repeatable: after a conflict with another
    writer it is run again. Raises `ConcurrentRunError` after too many conflicts, `LakeLostError` if
    this run lost its lease on the lake, or may have.
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
                raise conflict_error(table, step) from conflict
            wait_after(attempt)
        else:
            return


def exists(spark: SparkSession, table: str) -> bool:
    """Return True if Spark finds a Delta table; a folder without a commit is not one."""
    try:
        return bool(read(spark, table).schema)
    except AnalysisException as error:
        if condition(error) not in NO_TABLE_CONDITIONS:
            raise
        return False


def read(spark: SparkSession, table: str, *, version: int | None = None) -> DataFrame:
    """Return the table as a DataFrame, now or at one of its versions."""
    reader = spark.read.format("delta")
    if version is not None:
        reader = reader.option("versionAsOf", version)
    return reader.table(table) if is_name(table) else reader.load(table)


def described(spark: SparkSession, table: str) -> Row:
    """Return the row of DESCRIBE DETAIL; selecting some of its columns would cost another job."""
    (row,) = spark.sql(f"DESCRIBE DETAIL {in_sql(table)}").collect()
    return row


def history(spark: SparkSession, table: str, limit: int | None = None) -> DataFrame:
    """Return a row for each of the last commits, or for all: `version`, `operationMetrics`, …

    The rows are already on the driver; transforming the DataFrame may cost a job.
    """
    last = "" if limit is None else f" LIMIT {limit}"
    return spark.sql(f"DESCRIBE HISTORY {in_sql(table)}{last}")


def append_once(
    rows: DataFrame,
    table: str,
    step: Step,
    *,
    partition_by: Sequence[str] = (),
    options: Mapping[str, str] | None = None,
) -> None:
    """Append `rows` as one step; creates the table if it does not exist.

    A step that is already committed costs no job: `rows` is not evaluated.
    """
    _write_once(_writer(rows, "append", partition_by, options), table, rows.sparkSession, step)


def append(
    rows: DataFrame,
    table: str,
    *,
    partition_by: Sequence[str] = (),
    options: Mapping[str, str] | None = None,
) -> None:
    """Append rows that record what was done, outside of any step; creates the table.

    The commit has no transaction identifier: concurrent runs must not displace each other's rows,
    and Delta would keep every identifier forever. The rows should carry an id of their own.
    """
    writer = _writer(rows, "append", partition_by, options)
    commit(lambda: _save(writer, table, rows.sparkSession), table)


def overwrite_once(
    rows: DataFrame,
    table: str,
    step: Step,
    *,
    partition_by: Sequence[str] = (),
    options: Mapping[str, str] | None = None,
) -> None:
    """Replace the table's rows and schema by `rows` as one step; earlier versions stay readable."""
    writer = _writer(rows, "overwrite", partition_by, options).option("overwriteSchema", "true")
    _write_once(writer, table, rows.sparkSession, step)


def replace_once(
    rows: DataFrame,
    table: str,
    step: Step,
    *,
    where: str,
    partition_by: Sequence[str],
    options: Mapping[str, str] | None = None,
) -> None:
    """Replace the rows that match `where` by `rows`, which must all match it, as one step.

    Cheap if the condition only names partitions: then no row is read.
    """
    if is_name(table):
        writer = _writer(rows, "error", partition_by, options)
        commit(lambda: _replace_named(rows, writer, table, where, step), table, step)
        return
    writer = _writer(rows, "overwrite", partition_by, options).option("replaceWhere", where)
    _write_once(writer, table, rows.sparkSession, step)


def merge_once(
    rows: DataFrame,
    table: str,
    step: Step,
    *,
    on: Column,
    clauses: Callable[[MergeIntoWriter], MergeIntoWriter],
    conf: Mapping[str, str] | None = None,
) -> None:
    """MERGE `rows` into the table `on` a condition, as one step.

    `clauses` adds the whenMatched… clauses. They refer to columns by `merged_column` (of the rows)
    and `target_column` (of the table). `conf`: settings of the session that runs the MERGE.
    """
    view = f"binlake_{uuid.uuid4().hex}"
    # The step's session sees the view, since it is a clone of this one.
    rows.createOrReplaceTempView(view)

    def merge(session: SparkSession, marker: str | None) -> None:
        matching = on
        if marker is not None:
            if _is_marked(session, table, marker):
                return
            # Always true, in a way that the optimizer cannot remove from the predicate in the
            # table's history.
            value = sf.col(merged_column(rows.columns[0])).cast("string")
            matching = on & (sf.coalesce(value, sf.lit("")) != sf.lit(marker))
        merged = session.table(view).alias(MERGED)
        clauses(merged.mergeInto(in_sql(table), matching)).merge()

    try:
        with _step_session(rows.sparkSession, step, conf or {}) as (session, marker):
            commit(lambda: merge(session, marker), table, step)
    finally:
        rows.sparkSession.catalog.dropTempView(view)


def _is_marked(spark: SparkSession, table: str, marker: str) -> bool:
    """Return True if one of the table's last commits carries the step's marker."""
    commits = history(spark, table, MARKER_COMMITS).collect()
    predicates = [(row["operationParameters"] or {}).get("predicate") for row in commits]
    return any(marker in (predicate or "") for predicate in predicates)


def merged_column(name: str) -> str:
    """Return a reference to a column of the source rows in a MERGE."""
    return f"{MERGED}.{quoted(name)}"


def target_column(table: str, name: str) -> str:
    """Return a reference to a column of the target table in a MERGE."""
    return f"{table if is_name(table) else quoted(table)}.{quoted(name)}"


def execute_once(spark: SparkSession, statement: str, table: str, step: Step) -> None:
    """Run one UPDATE or DELETE of `table` as a step; the statement itself must be idempotent."""
    with _step_session(spark, step, {}) as (session, _):
        commit(lambda: session.sql(statement), table, step)


@contextmanager
def _step_session(
    spark: SparkSession, step: Step, conf: Mapping[str, str]
) -> Iterator[tuple[SparkSession, str | None]]:
    """Yield a session whose settings identify a step, and which no other thread sees.

    If they may not be set, as on Databricks' serverless compute, also yield a marker for the step.
    """
    session = child_session(spark, conf)
    named = set_if_allowed(session, TXN_VERSION, str(step.version))
    named = set_if_allowed(session, TXN_APP_ID, step.app) and named
    marker = hashlib.sha256(f"{step.app}#{step.version}".encode()).hexdigest()
    try:
        yield session, None if named else marker
    finally:
        if is_connected(session):
            let_go(session)
        else:
            session.conf.unset(TXN_APP_ID)
            session.conf.unset(TXN_VERSION)


def _replace_named(
    rows: DataFrame, creating: DataFrameWriter, table: str, where: str, step: Step
) -> None:
    """Replace rows of a table in a catalog; DataFrameWriter's overwrite would replace the table."""
    spark = rows.sparkSession
    if not exists(spark, table):
        try:
            _save(_as_step(creating, step), table, spark)
        except AnalysisException as error:
            if not condition(error).endswith("TABLE_ALREADY_EXISTS"):
                raise
        else:
            return
    named = rows.writeTo(table).option("txnAppId", step.app)
    named.option("txnVersion", str(step.version)).overwrite(sf.expr(where))


def _writer(
    rows: DataFrame, mode: str, partition_by: Sequence[str], options: Mapping[str, str] | None
) -> DataFrameWriter:
    writer = rows.write.format("delta").mode(mode).options(**(options or {}))
    return writer.partitionBy(*partition_by) if partition_by else writer


def _as_step(writer: DataFrameWriter, step: Step) -> DataFrameWriter:
    return writer.option("txnAppId", step.app).option("txnVersion", step.version)


def _write_once(writer: DataFrameWriter, table: str, spark: SparkSession, step: Step) -> None:
    commit(lambda: _save(_as_step(writer, step), table, spark), table, step)


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
    """Create the schema of a table's name; if it exists, the privilege to create is not needed."""
    schema = table.rsplit(".`", 1)[0]
    if not spark.catalog.databaseExists(schema):
        spark.sql(f"CREATE SCHEMA IF NOT EXISTS {schema}")
