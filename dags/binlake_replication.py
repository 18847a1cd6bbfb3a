"""Replicate new binlog files of a source to its gold tables.

To recover from a failed run, run it again: each task resumes where it stopped.
"""

from __future__ import annotations

from airflow.sdk import DAG, BaseOperator, TriggerRule, chain

from binlake_airflow.command_task import command_task, report_task, status_check
from binlake_airflow.dag_arguments import dag_arguments
from binlake_airflow.dag_docs import document
from binlake_airflow.gold_asset import publish
from binlake_airflow.params import (
    CHECKED_UNTIL_OPTION,
    FULL_REFRESH,
    FULL_REFRESH_OPTION,
    UNTIL,
    UNTIL_OPTION,
)
from binlake_airflow.server_tasks import before_layers
from binlake_airflow.source import Source
from binlake_airflow.source_files import make_dags

# Also if capture or seed fails: landed files and seeded tables are still replicated.
FIRST = TriggerRule.ALL_DONE


def replication(source: Source) -> DAG:
    """Return the DAG of one source."""
    with DAG(
        **dag_arguments(source, "replication"),
        schedule=source.options.schedule,
        description=f"Replicate new binlogs of {source.name} to gold tables",
        params={"until": UNTIL, "full_refresh": FULL_REFRESH},
    ) as dag:
        before = before_layers(source)
        layers = _task_per_layer(source) if source.options.task_per_layer else [_run(source)]
        check = status_check(source)

        before >> layers[0]
        # A failed capture or seed must fail the run.
        before >> check
        chain(*layers, check)
        publish(source.name, layers[-1].output)
        if source.options.report is not None:
            layers[-1] >> report_task(source)
    document(dag, source, __doc__ or "")
    return dag


def _run(source: Source) -> BaseOperator:
    """Return the task that runs all layers in one process, so that Spark starts at most once."""
    options = {**UNTIL_OPTION, **FULL_REFRESH_OPTION}
    return command_task(source, "run", "run", options=options, trigger_rule=FIRST)


def _task_per_layer(source: Source) -> list[BaseOperator]:
    until, checked = UNTIL_OPTION, CHECKED_UNTIL_OPTION
    return [
        command_task(source, "bronze", "ingest", trigger_rule=FIRST),
        command_task(source, "silver", "decode", options={**checked, **FULL_REFRESH_OPTION}),
        command_task(source, "gold", "apply", options={**until, **FULL_REFRESH_OPTION}),
    ]


globals().update(make_dags(replication, report_errors=True))
