"""Tasks that ask the source server itself: capture, the seed of new tables, and verify.

They are there where the source's file asks for them.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from airflow.sdk import BaseOperator, cross_downstream

from binlake_airflow.command_task import command_task, worker_task
from binlake_airflow.source import ANY_POOL, Source

CONNECTOR = "org.mariadb.jdbc:mariadb-java-client:3.5.6"
"""What Spark reads servers with, MySQL's too: `pipeline.spark.jars` fetches it where it starts
Spark."""
_CONNECTOR_NAME = CONNECTOR.split(":")[1]


def capture_task(source: Source) -> BaseOperator:
    """Lands what the server has, and ends. On the worker, whose disk it is landed on."""
    return worker_task(source, "capture", "capture", server=source.options.server)


def seed_task(source: Source) -> BaseOperator:
    """Reads the tables that gold lacks."""
    own = source.options
    given: dict[str, Any] = {"server": own.server, "execution_timeout": own.seed_timeout}
    if own.connection is not None:
        given["submit"] = with_connector(own.submit)
    return command_task(source, "seed", "seed", **given)


def verify_task(source: Source) -> BaseOperator:
    """Compares gold with the server. It waits for runs of gold, so it takes none of their slots,
    and for that long more than other tasks. A difference always fails it: nothing else would tell.
    """
    own = source.options
    options = {"--against": "server", "--wait": str(int(own.verify_wait.total_seconds()))}
    given: dict[str, Any] = {
        "server": own.server,
        "pool": ANY_POOL,
        "warn": False,
        "execution_timeout": own.timeout + own.verify_wait,
    }
    return command_task(source, "verify", "verify", options=options, **given)


def before_bronze(source: Source) -> tuple[list[BaseOperator], list[BaseOperator]]:
    """The capture and the seed behind it: each in a list, which is empty where it is not asked for.

    The log from before a seed must be there when its rows are.
    """
    own = source.options
    capture = [capture_task(source)] if own.capture else []
    seed = [seed_task(source)] if own.seed else []
    cross_downstream(capture, seed)
    return capture, seed


def with_connector(submit: Mapping[str, Any]) -> dict[str, Any]:
    """Arguments of SparkSubmitOperator with the connector among its packages, unless they name it
    there or among its jars."""
    named = str(submit.get("packages") or ""), str(submit.get("jars") or "")
    if any(_CONNECTOR_NAME in names for names in named):
        return dict(submit)
    packages = [name for name in (named[0], CONNECTOR) if name]
    return {**submit, "packages": ",".join(packages)}
