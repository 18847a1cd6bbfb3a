"""A command of Binlake's as a task: over the source's connection to Spark, or on the worker."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from airflow.sdk import BaseOperator, TriggerRule, XComArg

from binlake_airflow.command_line import CHECK
from binlake_airflow.local_operator import BinlakeLocalOperator
from binlake_airflow.source import Source


def command_task(
    source: Source,
    task_id: str,
    *command: str,
    options: Mapping[str, Any] | None = None,
    **given: Any,
) -> BaseOperator:
    """`options` are flags with their values, which may be templates or results of other tasks;
    what is `given` to its operator wins over what other tasks of the source have."""
    operator, arguments = _operator(source, command)
    return operator(task_id=task_id, options=options or {}, **{**arguments, **given})


def worker_task(source: Source, task_id: str, *command: str, **given: Any) -> BaseOperator:
    """One that needs no Spark: on the worker itself, also where Spark is elsewhere.

    There the settings are the file that the worker has, whatever Spark's side calls it.
    """
    own = source.options
    settings = source.conf if own.connection is None else str(source.file)
    arguments = {**_arguments(source, command), "settings": settings, "program": own.command}
    return BinlakeLocalOperator(task_id=task_id, options={}, **{**arguments, **given})


def command_tasks(source: Source, task_id: str, *command: str, options: XComArg) -> Any:
    """One task for each of the `options` that another task lists, in their order."""
    operator, arguments = _operator(source, command)
    return operator.partial(task_id=task_id, **arguments).expand(options=options)


def status_check(source: Source) -> BaseOperator:
    """The last task: fails (or warns) where a table is held or a file is missing.

    A seed that only warns is skipped, which the check is not for that.
    """
    return command_task(source, "check", *CHECK, trigger_rule=TriggerRule.NONE_FAILED)


def _operator(
    source: Source, command: tuple[str, ...]
) -> tuple[type[BaseOperator], dict[str, Any]]:
    """Its class, and all that it is made with but its name and options."""
    own, arguments = source.options, _arguments(source, command)
    if own.connection is None:
        return BinlakeLocalOperator, {**arguments, "program": own.command}
    # Only where it is used: the provider may be missing where all sources run on the worker.
    from binlake_airflow.spark_operator import BinlakeSparkOperator

    return BinlakeSparkOperator, {**arguments, "conn_id": own.connection, "submit": own.submit}


def _arguments(source: Source, command: tuple[str, ...]) -> dict[str, Any]:
    """Those of every operator."""
    own = source.options
    return {
        "command": command,
        "settings": source.conf,
        "pool": source.pool,
        "execution_timeout": own.timeout,
        "warn": own.check == "warn",
    }
