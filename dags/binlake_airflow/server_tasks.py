"""Tasks that connect to the source server, if its file enables them: capture, seed, verify."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from airflow.sdk import BaseOperator, chain

from binlake_airflow.command_task import command_task, worker_task
from binlake_airflow.source import DEFAULT_POOL, Source

CONNECTOR = "org.mariadb.jdbc:mariadb-java-client:3.5.6"
"""The JDBC driver that Spark reads MySQL and MariaDB with. If Binlake starts Spark itself,
`pipeline.spark.jars` fetches it."""
_CONNECTOR_NAME = CONNECTOR.split(":")[1]


def capture_task(source: Source) -> BaseOperator:
    """Return the task that captures the server's logs until caught up, to the worker's disk."""
    return worker_task(source, "capture", "capture", server=source.options.server)


def seed_task(source: Source) -> BaseOperator:
    """Return the task that reads the initial snapshots of tables that gold lacks."""
    own = source.options
    overrides: dict[str, Any] = {"server": own.server, "execution_timeout": own.seed_timeout}
    if own.connection is not None:
        overrides["submit"] = with_connector(own.submit)
    return command_task(source, "seed", "seed", **overrides)


def verify_task(source: Source) -> BaseOperator:
    """Return the task that compares gold with the server.

    It waits for runs of gold, so it must not use the source's pool, and `verify_wait` is added to
    its timeout. A difference always fails it, as no other task reports one.
    """
    own = source.options
    options = {"--against": "server", "--wait": str(int(own.verify_wait.total_seconds()))}
    overrides: dict[str, Any] = {
        "server": own.server,
        "pool": DEFAULT_POOL,
        "warn": False,
        "execution_timeout": own.timeout + own.verify_wait,
    }
    return command_task(source, "verify", "verify", options=options, **overrides)


def before_layers(source: Source) -> list[BaseOperator]:
    """Return those of the capture and seed tasks that are enabled.

    The seed runs after the capture: the log before its snapshot must have been landed.
    """
    own = source.options
    tasks = [capture_task(source)] if own.capture else []
    if own.seed:
        tasks.append(seed_task(source))
    chain(*tasks)
    return tasks


def with_connector(submit: Mapping[str, Any]) -> dict[str, Any]:
    """Return SparkSubmitOperator's arguments with the connector added to its packages.

    They are unchanged if their packages or jars already name it.
    """
    packages, jars = (str(submit.get(key) or "") for key in ("packages", "jars"))
    if _CONNECTOR_NAME in packages or _CONNECTOR_NAME in jars:
        return dict(submit)
    return {**submit, "packages": ",".join(filter(None, (packages, CONNECTOR)))}
