"""A command of Binlake's as a task: over the source's connection to Spark, or on the worker."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from airflow.sdk import BaseOperator, XComArg

from binlake_airflow.command_line import CHECK
from binlake_airflow.local_operator import BinlakeLocalOperator
from binlake_airflow.source import Source


def command_task(
    source: Source, task_id: str, *command: str, options: Mapping[str, Any] | None = None
) -> BaseOperator:
    """`options` are flags with their values, which may be templates or results of other tasks."""
    operator, arguments = _operator(source, command)
    return operator(task_id=task_id, options=options or {}, **arguments)


def command_tasks(source: Source, task_id: str, *command: str, options: XComArg) -> Any:
    """One task for each of the `options` that another task lists, in their order."""
    operator, arguments = _operator(source, command)
    return operator.partial(task_id=task_id, **arguments).expand(options=options)


def status_check(source: Source) -> BaseOperator:
    """The last task: fails (or warns) where a table is held or a file is missing."""
    return command_task(source, "check", *CHECK)


def _operator(
    source: Source, command: tuple[str, ...]
) -> tuple[type[BaseOperator], dict[str, Any]]:
    """Its class, and all that it is made with but its name and options."""
    own = source.options
    arguments: dict[str, Any] = {
        "command": command,
        "settings": source.conf,
        "pool": source.pool,
        "execution_timeout": own.timeout,
        "warn": own.check == "warn",
    }
    if own.connection is None:
        return BinlakeLocalOperator, {**arguments, "program": own.command}
    # Only where it is used: the provider may be missing where all sources run on the worker.
    from binlake_airflow.spark_operator import BinlakeSparkOperator

    return BinlakeSparkOperator, {**arguments, "conn_id": own.connection, "submit": own.submit}
