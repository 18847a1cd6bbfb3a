"""The Spark session: JDK, Delta, and the settings that correctness and speed depend on.

Only this module starts Spark; all others get a session, or one that starts when it is first needed
(`pipeline.lake.lazy_spark`).
"""

from __future__ import annotations

import os
import re
import sys
from pathlib import Path

from pyspark.sql import SparkSession

from pipeline.errors import MissingRequirementError
from pipeline.lake.child_sessions import child_session, close_session_at_exit, setting
from pipeline.lake.lazy_spark import Spark, StartingSpark
from pipeline.lake.stores import hadoop_conf
from pipeline.observe import Progress, say
from pipeline.observe.interruption import watch
from pipeline.settings import Settings
from pipeline.settings.settings import MIB
from pipeline.spark.jars import connector_jars, delta_jars, spark_home
from pipeline.spark.java import cache_folder, java_home
from pipeline.spark.ship_code import on_this_machine, ship
from pipeline.spark.spark_submit import (
    apply_to_process,
    given_conf,
    is_submitted,
    merged,
    require_delta,
)

LOG4J = """\
status = off
rootLogger.level = error
rootLogger.appenderRef.console.ref = console
appender.console.type = Console
appender.console.name = console
appender.console.target = SYSTEM_ERR
{layout}
# The root's level, so that Spark does not set one and report it.
logger.gateway.name = org.apache.spark.api.python.PythonGatewayServer
logger.gateway.level = error
# The error of a failed task is raised as well.
logger.task.name = org.apache.spark.executor.Executor
logger.task.level = off
logger.tasks.name = org.apache.spark.scheduler.TaskSetManager
logger.tasks.level = off
# So is that of a failed write.
logger.write.name = org.apache.spark.sql.delta.files.DeltaFileFormatWriter
logger.write.level = off
logger.merge.name = org.apache.spark.sql.delta.commands.MergeIntoCommand
logger.merge.level = off
logger.utils.name = org.apache.spark.util.Utils
logger.utils.level = off
# Delta logs at error level that it does not push one of its own filters down to Parquet.
logger.filter.name = org.apache.spark.sql.delta.DeltaParquetFileFormat
logger.filter.level = off
"""

LAYOUTS = {
    "text": """\
appender.console.layout.type = PatternLayout
appender.console.layout.pattern = %d{HH:mm:ss} %p %c{1}: %m%n%ex{short}""",
    # With the field names of Binlake's own lines.
    "json": """\
appender.console.layout.type = JsonTemplateLayout
appender.console.layout.eventTemplate = {\
"time": {"$resolver": "timestamp", "pattern": \
{"format": "yyyy-MM-dd'T'HH:mm:ss.SSS'+00:00'", "timeZone": "UTC"}}, \
"level": {"$resolver": "level", "field": "name"}, \
"logger": {"$resolver": "logger", "field": "name"}, \
"message": {"$resolver": "message", "stringified": true}, \
"event": "spark", \
"exc_info": {"$resolver": "exception", "field": "stackTrace", "stackTrace": {"stringified": true}}}\
""",
}

MASTER = "spark.master"
WORKERS_PYTHON = "spark.pyspark.python"
JAVA_OPTIONS = "spark.driver.extraJavaOptions"
COLLECTOR = "-XX:+UseParallelGC"
CODE_CACHE = "-XX:ReservedCodeCacheSize=512m"
# Four times Java's defaults.
COMPILER = (
    "-XX:Tier4InvocationThreshold=20000 -XX:Tier4MinInvocationThreshold=2400"
    " -XX:Tier4CompileThreshold=60000 -XX:Tier4BackEdgeThreshold=160000"
)

QUICK = "-XX:TieredStopAtLevel=1"
"""Replaces COMPILER if there is little to do: only the fast compiler."""

_DEFAULTS = (
    (COLLECTOR, r"-XX:\+Use\w+GC\b"),
    (CODE_CACHE, r"ReservedCodeCache"),
    (COMPILER, r"-XX:[-+]?Tier"),
)
"""Default Java options, each with a pattern of the user's options that replace it."""

RELIED_ON = {
    # Compare and print instants in UTC, whatever the machine's time zone.
    "spark.sql.session.timeZone": "UTC",
    # Raise an error for values that do not fit, instead of a silent NULL.
    "spark.sql.ansi.enabled": "true",
}
"""Session settings that the correctness of values depends on."""

CONNECT = "sc://"
"""The prefix of a master that is a Spark Connect server."""
DATABRICKS = "DATABRICKS_RUNTIME_VERSION"
"""An environment variable of Databricks' jobs and notebooks."""
STARTED_ELSEWHERE = ("SPARK_REMOTE", DATABRICKS)
"""Environment variables that mean that Spark is already running."""

SUBSTITUTION = {"spark.sql.variable.substitute": "false"}
"""MySQL's names may contain `${…}`, which Spark would replace as a variable. Some servers do not
allow this setting; values do not depend on it."""

CONF = {
    **RELIED_ON,
    **SUBSTITUTION,
    "spark.sql.extensions": "io.delta.sql.DeltaSparkSessionExtension",
    "spark.sql.catalog.spark_catalog": "org.apache.spark.sql.delta.catalog.DeltaCatalog",
    "spark.sql.execution.arrow.pyspark.enabled": "true",
    # For the line of Python in its errors, PySpark asks Java for the session and its settings at
    # every step of an expression: four fifths of the time to build one. It is off for all of the
    # process then, unless the user's settings have it on.
    "spark.python.sql.dataFrameDebugging.enabled": "false",
    # Delta logs are small here: the default of 50 partitions costs 50 tasks for each snapshot, and
    # each task generates its code again.
    "spark.databricks.delta.snapshotPartitions": "1",
    # Delta refuses to read a version older than the retention of removed files even if all of its
    # files exist, for example the version before ALTER or RENAME of a table without changes for a
    # week. `pipeline.maintenance` decides which versions stay readable.
    "spark.databricks.delta.vacuum.enforceTimeTravelWithinDeletedFileRetentionDuration": "false",
    # A cached Delta log takes 2 MB of the driver's heap, and by default 10,000 are cached: with
    # some hundreds of tables, a driver of 2 GB spent all its time in garbage collection.
    "spark.databricks.delta.delta.log.cacheSize": "128",
    # With the next three, a gold table is written in a quarter less time, to a third of the space
    # (docs/contributing/benchmarks.md). Dictionaries remain for columns of few values; trying them
    # on others is expensive.
    "spark.sql.parquet.compression.codec": "zstd",
    "spark.hadoop.parquet.dictionary.page.size": str(64 << 10),
    # Eight bytes with statistics, instead of twelve without (INT96, deprecated by Parquet).
    "spark.sql.parquet.outputTimestampType": "TIMESTAMP_MICROS",
}

ALONE = {
    "spark.ui.enabled": "false",
    "spark.ui.showConsoleProgress": "false",
    "spark.log.structuredLogging.enabled": "false",
}
"""Settings only for a Spark that Binlake starts itself: after spark-submit, these are up to the
cluster's operators."""

LOCAL = {"spark.driver.host": "localhost", "spark.driver.bindAddress": "127.0.0.1"}
"""Settings of a driver whose workers are on its own machine; a cluster's could not connect."""


def spark_for(
    settings: Settings,
    progress: Progress | None = None,
    *,
    connector: bool = False,
    beside: bool = False,
    lasting: bool = False,
) -> Spark:
    """Return the session that exists, or a Spark that starts when it is first needed.

    `progress` shows that the command waits for it. `connector`: see `session`; `beside`, `lasting`:
    see `StartingSpark`. Raises as `session` does if a session exists, or if spark-submit runs this:
    its Java has started, and YARN takes a driver that never begins a session for one that failed.
    """
    elsewhere = any(name in os.environ for name in STARTED_ELSEWHERE)
    connected = settings.spark.master.startswith(CONNECT)
    if is_submitted() or elsewhere or connected or SparkSession.getActiveSession() is not None:
        return session(settings, connector=connector)

    def start() -> SparkSession:
        return session(settings, connector=connector, little=starting.little)

    master = settings.spark.conf.get(MASTER, settings.spark.master)
    starting = StartingSpark(start, master, beside=beside, lasting=lasting, progress=progress)
    return starting


def session(
    settings: Settings,
    app_name: str = "binlake",
    *,
    connector: bool = False,
    little: bool = False,
) -> SparkSession:
    """Return the existing session (Databricks', Spark Connect's, a test's), or start a new one.

    `connector`: a new one gets MariaDB's connector too. `little`: it has little to do.

    Raises MissingRequirementError if there is no JDK, if Delta's jars cannot be downloaded, or if
    spark-submit was not given them.
    """
    # Must come first: the workers' configuration depends on it.
    apply_to_process(settings)
    active = SparkSession.getActiveSession() or _given(settings)
    if active is not None:
        return _as_needed(active)
    if not is_submitted():
        say("spark_starting", "Starting Spark …", master=settings.spark.master)
    builder = SparkSession.builder.appName(app_name)
    for key, value in configuration(settings, connector=connector, little=little).items():
        builder = builder.config(key, value)
    started = builder.getOrCreate()
    watch(started)
    if is_submitted():
        require_delta(started)
    ship(started)
    return started


def _given(settings: Settings) -> SparkSession | None:
    """Return the session of a Spark that was started elsewhere; None if Binlake must start it."""
    if settings.spark.master.startswith(CONNECT):
        connected = SparkSession.builder.remote(settings.spark.master).getOrCreate()
        close_session_at_exit(connected)
        watch(connected)
        return connected
    if any(name in os.environ for name in STARTED_ELSEWHERE):
        return SparkSession.builder.getOrCreate()
    return None


def _as_needed(active: SparkSession) -> SparkSession:
    """Return the session, or a child session with the settings that correctness depends on."""
    modifiable = {n: v for n, v in SUBSTITUTION.items() if active.conf.isModifiable(n)}
    needed = {**RELIED_ON, **modifiable}
    if all(setting(active, name) == value for name, value in needed.items()):
        return active
    own = child_session(active, needed)
    for name, value in RELIED_ON.items():
        if setting(own, name) != value:
            raise MissingRequirementError(
                f"this Spark does not allow setting {name} to {value}: replicated values would be"
                " wrong without it.",
                remedy="Allow it to be set, or set it where Spark is started.",
            )
    return own


def configuration(
    settings: Settings, *, connector: bool = False, little: bool = False
) -> dict[str, str]:
    """Return the configuration of a new session; the user's settings take precedence.

    `connector`, `little`: see `session`.
    """
    spark = settings.spark
    if is_submitted():
        # Java is running: master, memory and jars were set by spark-submit's options.
        ours = {**CONF, **hadoop_conf()}
        return {**merged(ours, RELIED_ON, given_conf()), **spark.conf}
    home = java_home()
    jars = delta_jars(home, spark.conf)
    jars += connector_jars(home, spark.conf) if connector else []
    logging = f"-Dlog4j2.configurationFile={_log4j(settings.log).as_uri()}"
    os.environ["JAVA_HOME"] = str(home)
    os.environ["SPARK_HOME"] = str(spark_home())
    os.environ.setdefault("PYSPARK_PYTHON", spark.conf.get(WORKERS_PYTHON, sys.executable))
    return {
        **CONF,
        **ALONE,
        **(LOCAL if on_this_machine(spark.master) else {}),
        MASTER: spark.master,
        "spark.driver.memory": f"{spark.driver_memory // MIB}m",
        "spark.sql.shuffle.partitions": str(2 * cores(spark.master)),
        "spark.jars": ",".join(map(str, jars)),
        **hadoop_conf(workers_elsewhere=not on_this_machine(spark.master)),
        **spark.conf,
        JAVA_OPTIONS: f"{logging} {with_defaults(spark.conf.get(JAVA_OPTIONS, ''), little)}",
    }


def with_defaults(options: str, little: bool = False) -> str:
    """Return the user's Java options with defaults for those that they do not set.

    - COLLECTOR: rows of many megabytes do not fit into a region of the default garbage collector,
      and pauses do not matter to a batch; files to gold take a tenth less time
      (docs/contributing/benchmarks.md).
    - CODE_CACHE: in a run of hundreds of tables, Spark's generated code fills the default cache,
      after which nothing more is compiled.
    - COMPILER: less is compiled by the optimizing compiler, which takes a third of two cores and
      does not pay off in a short scheduled run. With `little` to do, nothing is (QUICK).
    """
    chosen = [default for default, sets in _DEFAULTS if not re.search(sets, options)]
    if little:
        chosen = [QUICK if option == COMPILER else option for option in chosen]
    return " ".join([*chosen, options]).strip()


def cores(master: str) -> int:
    """Return the number of parallel tasks of a local master; for others, this machine's cores.

    A cluster's number of cores is not known in advance: it comes from the settings.
    """
    local = re.fullmatch(r"local(?:\[(\d+)(?:,\d+)?\])?", master)
    return int(local[1] or 1) if local else os.cpu_count() or 1


def log4j(layout: str) -> str:
    """Return Spark's logging configuration: errors only, as text or JSON."""
    return LOG4J.replace("{layout}", LAYOUTS[layout].rstrip())


def _log4j(layout: str) -> Path:
    """Return the logging configuration's file, since Java reads it before Spark starts."""
    file = cache_folder("spark") / f"log4j2-{layout}.properties"
    if not file.exists() or file.read_text() != log4j(layout):
        aside = file.with_name(f"{file.name}.{os.getpid()}")
        aside.write_text(log4j(layout))
        aside.replace(file)
    return file
