"""Airflow: takes in an archive of binlogs for each source in conf/sources. By hand.

    binlogs ─▶ bronze ─▶ silver ─▶ gold for each step ─▶ published, check

Files come from the paths that are given when it is triggered, and are taken in the log's order, in
batches of a size: a task that is tried again goes on with the batch that it was at. With *since*,
*until* and *every*, gold goes through them in steps, each with a published cut of its own.
"""

from __future__ import annotations

from typing import Any

from airflow.sdk import DAG, task
from airflow.sdk.exceptions import AirflowFailException

from binlake_airflow.command_task import command_task, command_tasks, status_check
from binlake_airflow.dag_arguments import dag_arguments
from binlake_airflow.gold_asset import publish
from binlake_airflow.params import BINLOGS, EVERY, SINCE, UNTIL
from binlake_airflow.source import Source
from binlake_airflow.sources import make_dags
from binlake_airflow.stops import stops


@task
def binlogs(**context: Any) -> list[str]:
    """The places of files, as the run was given them."""
    return list(context["params"]["binlogs"])


@task
def steps(**context: Any) -> list[dict[str, str]]:
    """Gold's options at each step."""
    given = context["params"]
    try:
        found = stops(given["since"], given["until"], given["every"])
    except ValueError as error:
        raise AirflowFailException(str(error)) from error
    return [{"--until": stop} for stop in found]


def backfill(source: Source) -> DAG:
    """The DAG of one source."""
    with DAG(
        **dag_arguments(source, "backfill"),
        schedule=None,
        description=f"An archive of {source.name}'s binlogs to gold tables",
        doc_md=__doc__,
        params={"binlogs": BINLOGS, "since": SINCE, "until": UNTIL, "every": EVERY},
    ) as dag:
        # All places at once: which file comes first, the log tells, and not which task was quicker.
        bronze = command_task(source, "bronze", "ingest", options={"--binlogs": binlogs()})
        silver = command_task(source, "silver", "decode")
        gold = command_tasks(source, "gold", "apply", options=steps())

        bronze >> silver >> gold
        publish(source.name, gold.output)
        gold >> status_check(source)
    return dag


globals().update(make_dags(backfill))
