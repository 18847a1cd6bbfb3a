"""Sessions beside a session: with settings of their own, which no other thread sees.

In this process a copy of the Java session, behind Spark Connect a copy that the server makes.
"""

from __future__ import annotations

import atexit
from collections.abc import Mapping
from contextlib import suppress

from pyspark.errors import PySparkException
from pyspark.sql import SparkSession

from pipeline.errors import MissingRequirementError
from pipeline.lake.starting import Spark, StartingSpark

NOT_SETTABLE = frozenset(
    {"CANNOT_MODIFY_CONFIG", "CANNOT_MODIFY_STATIC_CONFIG", "CONFIG_NOT_AVAILABLE"}
)
"""Conditions of errors about settings that a server does not let be set, or does not tell."""
_MASTER = "spark.master"
_PARTITIONS = "spark.sql.shuffle.partitions"
_UNTOLD = 200
"""Spark's own default, where Databricks finds the number itself (`auto`)."""
_CLONE = "cloneSession"
_CONNECTED: set[SparkSession] = set()
"""Sessions of Spark Connect that are in use until the program ends."""


def own_session(spark: SparkSession, conf: Mapping[str, str]) -> SparkSession:
    """A session beside `spark`, with its settings, and those of `conf` that may be set there."""
    session = _clone(spark)
    for key, value in conf.items():
        set_if_allowed(session, key, value)
    return session


def set_if_allowed(session: SparkSession, key: str, value: str) -> bool:
    """Set it; False where the server does not let it be set, as Databricks' serverless compute."""
    try:
        session.conf.set(key, value)
    except PySparkException as error:
        if condition(error) not in NOT_SETTABLE:
            raise
        return False
    return True


def setting(session: SparkSession, key: str) -> str | None:
    """What a setting is; None where it is not set, or where the server does not tell it.

    Databricks' serverless compute refuses to, whatever default is asked for.
    """
    try:
        return session.conf.get(key, None)
    except PySparkException as error:
        if condition(error) not in NOT_SETTABLE:
            raise
        return None


def tasks_of_a_job(spark: SparkSession) -> int:
    """Into how many tasks a job's work is to be dealt: what `spark.sql.shuffle.partitions` says.

    It is what conf tells of a cluster's size, and Spark's own jobs go by it too.
    """
    tasks = setting(spark, _PARTITIONS) or ""
    return max(int(tasks), 1) if tasks.isdecimal() else _UNTOLD


def condition(error: PySparkException) -> str:
    """What Spark calls an error, without the part behind a dot; empty where it has no name."""
    return (error.getCondition() or "").partition(".")[0]


def _clone(spark: SparkSession) -> SparkSession:
    """Spark Connect's clone, or the same of the Java session that another SparkSession stands for.

    PySpark's newSession would start from the application's settings, and to bring the session's own
    along is hundreds of calls.
    """
    if not is_connected(spark):
        return type(spark)(spark.sparkContext, spark._jsparkSession.cloneSession())
    if not hasattr(spark, _CLONE):
        raise MissingRequirementError(
            "this Spark Connect cannot clone sessions.", remedy="Spark 4.1 or newer can."
        )
    connected: SparkSession = getattr(spark, _CLONE)()
    let_go_at_exit(connected)
    return connected


def is_connected(spark: Spark) -> bool:
    """Whether Spark is elsewhere, behind Spark Connect."""
    return not isinstance(spark, StartingSpark) and not hasattr(spark, "_jsparkSession")


def is_elsewhere(spark: Spark, path: str) -> bool:
    """Whether a path is another place for Spark than for this process: one without a scheme, which
    Spark Connect's server takes for a folder of its own."""
    return is_connected(spark) and "://" not in path


def master_of(spark: Spark) -> str:
    """Where Spark's tasks run, as it names it; empty where it does not tell."""
    return spark.master if isinstance(spark, StartingSpark) else setting(spark, _MASTER) or ""


def let_go_at_exit(connected: SparkSession) -> None:
    """Let go of a session of Spark Connect when the program ends.

    One that is only deleted then waits for threads that there are no more.
    """
    _CONNECTED.add(connected)


def let_go(connected: SparkSession) -> None:
    """Tell the server that a session is not needed any more, which else it keeps for an hour.

    Not by `stop`, for which a clone lacks attributes. What cannot be told now it finds out then.
    """
    _CONNECTED.discard(connected)
    if connected.client.is_closed:
        return
    with suppress(PySparkException):
        connected.client.release_session()
    connected.client.close()


@atexit.register
def _let_all_go() -> None:
    for session in list(_CONNECTED):
        let_go(session)
