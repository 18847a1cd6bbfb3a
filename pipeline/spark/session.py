"""The Spark session: a JDK, Delta, and the settings that Binlake's correctness and speed rest on.

The only module that knows how Spark is started; everything else is given a session.
"""

from __future__ import annotations

import os
import re
import sys
from pathlib import Path

from pyspark.sql import SparkSession

from pipeline.errors import MissingRequirementError
from pipeline.lake.child_sessions import let_go_at_exit, own_session, setting
from pipeline.lake.starting import Spark, StartingSpark
from pipeline.lake.stores import hadoop_conf
from pipeline.observe import Progress, say
from pipeline.observe.interruption import watch
from pipeline.settings import Settings
from pipeline.settings.settings import MIB
from pipeline.spark.cache import cache_folder
from pipeline.spark.jars import connector_jars, delta_jars, spark_home
from pipeline.spark.java import java_home
from pipeline.spark.ship_code import on_this_machine, ship
from pipeline.spark.spark_submit import given_conf, is_submitted, merged, require_delta, use_stores

LOG4J = """\
status = off
rootLogger.level = error
rootLogger.appenderRef.console.ref = console
appender.console.type = Console
appender.console.name = console
appender.console.target = SYSTEM_ERR
{layout}
# Equal to the root's, so that Spark has no level to set and to tell about.
logger.gateway.name = org.apache.spark.api.python.PythonGatewayServer
logger.gateway.level = error
# A task that fails is told by the error that it ends in.
logger.task.name = org.apache.spark.executor.Executor
logger.task.level = off
logger.tasks.name = org.apache.spark.scheduler.TaskSetManager
logger.tasks.level = off
# So is a write that fails.
logger.write.name = org.apache.spark.sql.delta.files.DeltaFileFormatWriter
logger.write.level = off
logger.merge.name = org.apache.spark.sql.delta.commands.MergeIntoCommand
logger.merge.level = off
logger.utils.name = org.apache.spark.util.Utils
logger.utils.level = off
# Delta says at error level that it does not push a filter of its own down to Parquet.
logger.filter.name = org.apache.spark.sql.delta.DeltaParquetFileFormat
logger.filter.level = off
"""

LAYOUTS = {
    "text": """\
appender.console.layout.type = PatternLayout
appender.console.layout.pattern = %d{HH:mm:ss} %p %c{1}: %m%n%ex{short}""",
    # With the names that lines of our own have.
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
# Four times Java's own.
COMPILER = (
    "-XX:Tier4InvocationThreshold=20000 -XX:Tier4MinInvocationThreshold=2400"
    " -XX:Tier4CompileThreshold=60000 -XX:Tier4BackEdgeThreshold=160000"
)

QUICK = "-XX:TieredStopAtLevel=1"
"""Instead, where there is little to do: the compiler that compiles quickly alone."""

_DEFAULTS = (
    (COLLECTOR, r"-XX:\+Use\w+GC\b"),
    (CODE_CACHE, r"ReservedCodeCache"),
    (COMPILER, r"-XX:[-+]?Tier"),
)
"""Options of Java's, each with what tells that others were chosen."""

RELIED_ON = {
    # Instants are compared and printed in UTC whatever the machine's zone is.
    "spark.sql.session.timeZone": "UTC",
    # Values that do not fit are an error, never a silent NULL.
    "spark.sql.ansi.enabled": "true",
}
"""Settings of a session that values depend on."""

CONNECT = "sc://"
"""What a master begins with that is a server of Spark Connect."""
DATABRICKS = "DATABRICKS_RUNTIME_VERSION"
"""A variable of the environment of Databricks' jobs and notebooks."""
STARTED_ELSEWHERE = ("SPARK_REMOTE", DATABRICKS)
"""Variables of an environment in which Spark is there already."""

SUBSTITUTION = {"spark.sql.variable.substitute": "false"}
"""MySQL's names may hold `${…}`, which Spark would take for a variable. Not every server lets it be
set; values do not depend on it."""

CONF = {
    **RELIED_ON,
    **SUBSTITUTION,
    "spark.sql.extensions": "io.delta.sql.DeltaSparkSessionExtension",
    "spark.sql.catalog.spark_catalog": "org.apache.spark.sql.delta.catalog.DeltaCatalog",
    "spark.sql.execution.arrow.pyspark.enabled": "true",
    # A Delta table's log is small here: the default of 50 partitions costs 50 tasks per look, and
    # each task generates its code anew.
    "spark.databricks.delta.snapshotPartitions": "1",
    # Delta refuses a version that was committed longer ago than its table keeps removed files, also
    # where all of its files are there: so is a table, as it was before it is altered or renamed,
    # that has rested for a week. `pipeline.maintenance` decides which versions stay readable.
    "spark.databricks.delta.vacuum.enforceTimeTravelWithinDeletedFileRetentionDuration": "false",
    # What Delta knows of a table takes 2 MB of the driver's heap, and by default it keeps that of
    # 10,000 tables: with some hundreds a driver of 2 GB did nothing but collect garbage.
    "spark.databricks.delta.delta.log.cacheSize": "128",
    # A gold table takes a quarter less time to write with the next three, and a third of the space
    # (docs/benchmarks.md). Dictionaries stay where values are few; to try them on others is dear.
    "spark.sql.parquet.compression.codec": "zstd",
    "spark.hadoop.parquet.dictionary.page.size": str(64 << 10),
    # Eight bytes with statistics instead of twelve without, which Parquet calls deprecated.
    "spark.sql.parquet.outputTimestampType": "TIMESTAMP_MICROS",
}

ALONE = {
    "spark.ui.enabled": "false",
    "spark.ui.showConsoleProgress": "false",
    "spark.log.structuredLogging.enabled": "false",
}
"""What a Spark that we start ourselves does without: one that was submitted is looked after by
those who run the cluster, with their own means."""

LOCAL = {"spark.driver.host": "localhost", "spark.driver.bindAddress": "127.0.0.1"}
"""Of a driver whose workers are on its own machine. Those of a cluster could not reach it there."""


def spark_for(
    settings: Settings,
    progress: Progress | None = None,
    *,
    connector: bool = False,
    beside: bool = False,
) -> Spark:
    """Return the session that exists, or a Spark of our own, which starts when something needs it.

    `progress` shows that the command waits for it. `connector`, `beside`: see `session` and
    `StartingSpark`. Raises as `session` does if a session exists, or if spark-submit runs this: its
    Java has started, and YARN takes a driver that never begins a session for one that failed.
    """
    elsewhere = any(name in os.environ for name in STARTED_ELSEWHERE)
    connected = settings.spark.master.startswith(CONNECT)
    if is_submitted() or elsewhere or connected or SparkSession.getActiveSession() is not None:
        return session(settings, connector=connector)

    def start() -> SparkSession:
        return session(settings, connector=connector, little=starting.little)

    master = settings.spark.conf.get(MASTER, settings.spark.master)
    starting = StartingSpark(start, master, beside=beside, progress=progress)
    return starting


def session(
    settings: Settings,
    app_name: str = "binlake",
    *,
    connector: bool = False,
    little: bool = False,
) -> SparkSession:
    """The session that there is (Databricks', Spark Connect's, a test's), or a new one.

    `connector`: a new one is to have MariaDB's connector too. `little`: it has little to do.

    Raises MissingRequirementError where there is no JDK, Delta's jars cannot be fetched, or
    spark-submit was not given them.
    """
    # Before what workers are to know of stores is looked up.
    use_stores(settings.spark.conf)
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
    """A session of a Spark that somebody else has started and set up; None where it is ours to."""
    if settings.spark.master.startswith(CONNECT):
        connected = SparkSession.builder.remote(settings.spark.master).getOrCreate()
        let_go_at_exit(connected)
        watch(connected)
        return connected
    if any(name in os.environ for name in STARTED_ELSEWHERE):
        return SparkSession.builder.getOrCreate()
    return None


def _as_needed(active: SparkSession) -> SparkSession:
    """The session itself, or one beside it with the settings that correctness rests on."""
    modifiable = {n: v for n, v in SUBSTITUTION.items() if active.conf.isModifiable(n)}
    needed = {**RELIED_ON, **modifiable}
    if all(setting(active, name) == value for name, value in needed.items()):
        return active
    own = own_session(active, needed)
    for name, value in RELIED_ON.items():
        if setting(own, name) != value:
            raise MissingRequirementError(
                f"this Spark does not let {name} be {value}, on which values depend.",
                remedy="Let it be set, or set it where Spark is started.",
            )
    return own


def configuration(
    settings: Settings, *, connector: bool = False, little: bool = False
) -> dict[str, str]:
    """Everything that a new session is built with; the user's own settings win.

    `connector`: MariaDB's too.
    """
    spark = settings.spark
    if is_submitted():
        # Java has started already: spark-submit's own options gave master, memory and jars.
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
    """Java's options, with what they do not choose themselves.

    A garbage collector: rows of many megabytes fit no region of Java's default one, and nobody
    waits for a batch's pauses; files to gold take a tenth less time with this one
    (docs/benchmarks.md). Room for compiled code: what Spark generates fills Java's default in a run
    of hundreds of tables, and then nothing more is compiled. Less that is compiled a second time,
    better: a scheduled run is over before that has paid, and it takes a third of two cores. With
    `little` to do, nothing is.
    """
    chosen = [default for default, sets in _DEFAULTS if not re.search(sets, options)]
    if little:
        chosen = [QUICK if option == COMPILER else option for option in chosen]
    return " ".join([*chosen, options]).strip()


def cores(master: str) -> int:
    """How many tasks run at once on a local master; elsewhere, as many as this machine has cores.

    A cluster's own number is not known before it is asked, and is set in conf there.
    """
    local = re.fullmatch(r"local(?:\[(\d+)(?:,\d+)?\])?", master)
    return int(local[1] or 1) if local else os.cpu_count() or 1


def log4j(layout: str) -> str:
    """What Spark says in its own log: errors, as text or JSON."""
    return LOG4J.replace("{layout}", LAYOUTS[layout].rstrip())


def _log4j(layout: str) -> Path:
    """The logging configuration as a file, since Java reads it before Spark does anything."""
    file = cache_folder("spark") / f"log4j2-{layout}.properties"
    if not file.exists() or file.read_text() != log4j(layout):
        aside = file.with_name(f"{file.name}.{os.getpid()}")
        aside.write_text(log4j(layout))
        aside.replace(file)
    return file
