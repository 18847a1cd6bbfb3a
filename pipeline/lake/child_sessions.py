"""Child sessions of a Spark session, with settings that no other thread sees.

They are clones of the Java session in this process or, with Spark Connect, of the server's session.
Small jobs run in one without code generation (`interpreted`), which makes them faster.
"""

from __future__ import annotations

import atexit
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress

from pyspark.errors import PySparkException
from pyspark.sql import SparkSession

from pipeline.errors import MissingRequirementError
from pipeline.lake.lazy_spark import Spark, StartingSpark

NOT_SETTABLE = frozenset(
    {"CANNOT_MODIFY_CONFIG", "CANNOT_MODIFY_STATIC_CONFIG", "CONFIG_NOT_AVAILABLE"}
)
"""Error conditions for settings that a server refuses to set or to return."""
_MASTER = "spark.master"
_PARTITIONS = "spark.sql.shuffle.partitions"
_DEFAULT_PARTITIONS = 200
"""Spark's default, used where Databricks chooses the number itself (`auto`)."""
_CLONE = "cloneSession"
_CONNECTED: set[SparkSession] = set()
"""Spark Connect sessions to close when the program ends."""
FEW = 20_000
"""Changes of a batch, over all tables, up to which planning a job takes longer than running it."""
INTERPRETED = {
    # Adaptive execution runs a job per exchange to learn sizes that are known here.
    "spark.sql.adaptive.enabled": "false",
    "spark.sql.codegen.wholeStage": "false",
    "spark.sql.codegen.factoryMode": "NO_CODEGEN",
}


def child_session(spark: SparkSession, conf: Mapping[str, str]) -> SparkSession:
    """Return a clone of the session with the settings of `conf` that the server accepts."""
    session = _clone(spark)
    for key, value in conf.items():
        set_if_allowed(session, key, value)
    return session


def interpreted(spark: SparkSession) -> SparkSession:
    """Return a child session of `spark` without code generation."""
    return child_session(spark, INTERPRETED)


@contextmanager
def staying_active(spark: SparkSession) -> Iterator[None]:
    """Make `spark` the active session again at the end of the block."""
    try:
        yield
    finally:
        # PySpark can set the active session only by creating a DataFrame in it.
        spark.createDataFrame([], "nothing int")


def set_if_allowed(session: SparkSession, key: str, value: str) -> bool:
    """Set a setting; return False if the server refuses, as Databricks' serverless compute does."""
    try:
        session.conf.set(key, value)
    except PySparkException as error:
        if condition(error) not in NOT_SETTABLE:
            raise
        return False
    return True


def setting(session: SparkSession, key: str) -> str | None:
    """Return a setting's value; None if it is not set, or if the server refuses to return it.

    Databricks' serverless compute refuses even if a default is given.
    """
    try:
        return session.conf.get(key, None)
    except PySparkException as error:
        if condition(error) not in NOT_SETTABLE:
            raise
        return None


def tasks_per_job(spark: SparkSession) -> int:
    """Return the number of tasks to split a job into: `spark.sql.shuffle.partitions`.

    It is the setting that reflects a cluster's size, and Spark's own jobs use it too.
    """
    tasks = setting(spark, _PARTITIONS) or ""
    return max(int(tasks), 1) if tasks.isdecimal() else _DEFAULT_PARTITIONS


def condition(error: PySparkException) -> str:
    """Return Spark's error condition up to the first dot; empty if it has none."""
    return (error.getCondition() or "").partition(".")[0]


def _clone(spark: SparkSession) -> SparkSession:
    """Clone a session of Spark Connect, or the Java session of a classic one.

    PySpark's newSession starts from the application's settings; copying the session's own over
    takes hundreds of calls.
    """
    if not is_connected(spark):
        return type(spark)(spark.sparkContext, spark._jsparkSession.cloneSession())
    if not hasattr(spark, _CLONE):
        raise MissingRequirementError(
            "this version of Spark Connect cannot clone sessions.",
            remedy="Use Spark 4.1 or newer, on the client and on the server.",
        )
    connected: SparkSession = getattr(spark, _CLONE)()
    close_session_at_exit(connected)
    return connected


def is_connected(spark: Spark) -> bool:
    """Return True if the session is one of Spark Connect."""
    return not isinstance(spark, StartingSpark) and not hasattr(spark, "_jsparkSession")


def is_elsewhere(spark: Spark, path: str) -> bool:
    """Return True if Spark would not find a path where this process does: Spark Connect's server
    takes a path without a scheme for a folder of its own machine."""
    return is_connected(spark) and "://" not in path


def master_of(spark: Spark) -> str:
    """Return `spark.master`; empty if the server does not return it."""
    return spark.master if isinstance(spark, StartingSpark) else setting(spark, _MASTER) or ""


def close_session_at_exit(connected: SparkSession) -> None:
    """Close a Spark Connect session when the program ends.

    A session that is only garbage-collected then waits for threads that have already ended.
    """
    _CONNECTED.add(connected)


def let_go(connected: SparkSession) -> None:
    """Release a session on the server, which would keep it for an hour, and close its client.

    `stop` needs attributes that a clone lacks. If the release fails, the session times out.
    """
    _CONNECTED.discard(connected)
    if connected.client.is_closed:
        return
    with suppress(PySparkException):
        connected.client.release_session()
    connected.client.close()


@atexit.register
def _close_sessions() -> None:
    for session in list(_CONNECTED):
        let_go(session)
