"""Binlake commands as tasks: on the source's Spark connection, or on the Airflow worker."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from airflow.sdk import BaseOperator, TriggerRule, XComArg

from binlake_airflow.dag_docs import task_docs
from binlake_airflow.operators.command_line import CHECK
from binlake_airflow.operators.local_operator import BinlakeLocalOperator
from binlake_airflow.source import Source


def command_task(
    source: Source,
    task_id: str,
    *command: str,
    options: Mapping[str, Any] | None = None,
    **overrides: Any,
) -> BaseOperator:
    """Return the task of one command.

    `options` maps flags to values, which may be templates or results of other tasks. `overrides`
    are operator arguments that replace those shared by all tasks of the source.
    """
    operator, arguments = _operator(source, task_id, command)
    return operator(options=options or {}, **{**arguments, **overrides})


def worker_task(
    source: Source,
    task_id: str,
    *command: str,
    options: Mapping[str, Any] | None = None,
    **overrides: Any,
) -> BaseOperator:
    """Return the task of a command without Spark, which always runs on the Airflow worker.

    With a Spark connection, its settings are the worker's copy of the file, not `airflow.conf`.
    """
    own = source.options
    settings = source.conf if own.connection is None else str(source.file)
    arguments = _arguments(source, task_id, command)
    arguments |= {"settings": settings, "program": own.command}
    return BinlakeLocalOperator(options=options or {}, **{**arguments, **overrides})


def command_tasks(source: Source, task_id: str, *command: str, options: XComArg) -> Any:
    """Return a task mapped over the list of `options` that another task returns, in order."""
    operator, arguments = _operator(source, task_id, command)
    return operator.partial(**arguments).expand(options=options)


def status_check(source: Source) -> BaseOperator:
    """Return the last task: it fails (or warns) if a table is held or a file is missing.

    It also runs if a seed that only warns was skipped.
    """
    return command_task(source, "check", *CHECK, trigger_rule=TriggerRule.NONE_FAILED)


def report_task(source: Source) -> BaseOperator:
    """Return the task that writes the page of the lake, also after a run that failed."""
    options = {"--html": source.options.report}
    rule = TriggerRule.ALL_DONE
    return worker_task(source, "report", "report", options=options, trigger_rule=rule)


def _operator(
    source: Source, task_id: str, command: tuple[str, ...]
) -> tuple[type[BaseOperator], dict[str, Any]]:
    """Return the operator's class, and its arguments except `options`."""
    own, arguments = source.options, _arguments(source, task_id, command)
    if own.connection is None:
        return BinlakeLocalOperator, {**arguments, "program": own.command}
    # Imported on use: the Spark provider need not be installed if all sources run on the worker.
    from binlake_airflow.operators.spark_operator import BinlakeSparkOperator

    return BinlakeSparkOperator, {**arguments, "conn_id": own.connection, "submit": own.submit}


def _arguments(source: Source, task_id: str, command: tuple[str, ...]) -> dict[str, Any]:
    """Return the arguments that both operators take."""
    own = source.options
    return {
        "task_id": task_id,
        "doc_md": task_docs(task_id),
        "command": command,
        "settings": source.conf,
        "pool": source.pool,
        "execution_timeout": own.timeout,
        "warn": own.check == "warn",
    }
