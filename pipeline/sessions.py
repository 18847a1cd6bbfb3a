"""Sessions beside a session: with settings of their own, which no other thread sees.

In this process a copy of the Java session, behind Spark Connect a copy that the server makes.
"""

from __future__ import annotations

import atexit
import weakref
from collections.abc import Mapping

from pyspark.sql import SparkSession

_CONNECTED = "cloneSession"
"""What a session of Spark Connect has, and one of this process has not."""
_CONNECTED_SESSIONS: weakref.WeakSet[SparkSession] = weakref.WeakSet()


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
    if is_connected(spark):
        connected: SparkSession = getattr(spark, _CONNECTED)()
        let_go_at_exit(connected)
        return connected
    return type(spark)(spark.sparkContext, spark._jsparkSession.cloneSession())


def let_go_at_exit(connected: SparkSession) -> None:
    """Let go of a session of Spark Connect when the program ends, if it is in use until then.

    One that is only deleted then waits for threads that there are no more.
    """
    if not _CONNECTED_SESSIONS:
        atexit.register(_let_all_go)
    _CONNECTED_SESSIONS.add(connected)


def let_go(connected: SparkSession) -> None:
    """Tell the server that a session is not needed any more, which it would keep for an hour.

    Not by `stop`, which a clone has no attributes for.
    """
    if connected.client.is_closed:
        return
    try:
        connected.client.release_session()
    finally:
        connected.client.close()


def _let_all_go() -> None:
    for session in list(_CONNECTED_SESSIONS):
        let_go(session)
    _CONNECTED_SESSIONS.clear()


def is_connected(spark: SparkSession) -> bool:
    """Whether Spark is elsewhere, behind Spark Connect."""
    return hasattr(spark, _CONNECTED)
