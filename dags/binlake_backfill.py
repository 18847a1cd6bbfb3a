"""Replicate an archive of a source's binlogs to its gold tables. Triggered manually.

The files in **binlogs** are ingested in the log's order, in batches; a retried task resumes with
the batch that failed. With **since**, **until** and **every**, gold is applied in steps, and a
consistent snapshot is published after each.
"""

from __future__ import annotations

from typing import Any

from airflow.sdk import DAG, task
from airflow.sdk.exceptions import AirflowFailException

from binlake_airflow.command_task import command_task, command_tasks, status_check
from binlake_airflow.dag_arguments import dag_arguments
from binlake_airflow.dag_docs import document, task_docs
from binlake_airflow.gold_asset import publish
from binlake_airflow.params import BINLOGS, EVERY, SINCE, UNTIL
from binlake_airflow.source import Source
from binlake_airflow.source_files import make_dags
from binlake_airflow.stops import stops


@task(doc_md=task_docs("binlogs"))
def binlogs(**context: Any) -> list[str]:
    """Return the paths and URLs with which the run was triggered."""
    return list(context["params"]["binlogs"])


@task(doc_md=task_docs("steps"))
def steps(**context: Any) -> list[dict[str, str]]:
    """Return gold's options for each step."""
    params = context["params"]
    try:
        found = stops(params["since"], params["until"], params["every"])
    except ValueError as error:
        raise AirflowFailException(str(error)) from error
    return [{"--until": stop} for stop in found]


def backfill(source: Source) -> DAG:
    """Return the DAG of one source."""
    with DAG(
        **dag_arguments(source, "backfill"),
        schedule=None,
        description=f"Replicate an archive of {source.name}'s binlogs to gold tables",
        params={"binlogs": BINLOGS, "since": SINCE, "until": UNTIL, "every": EVERY},
    ) as dag:
        # One task for all paths: the log determines the order of the files.
        bronze = command_task(source, "bronze", "ingest", options={"--binlogs": binlogs()})
        silver = command_task(source, "silver", "decode")
        gold = command_tasks(source, "gold", "apply", options=steps())

        bronze >> silver >> gold
        gold >> status_check(source)
        publish(source.name, gold.output)
    document(dag, source, __doc__ or "")
    return dag


globals().update(make_dags(backfill))
