"""Airflow: from new binlog files to gold tables, for each source in conf/sources.

    bronze ─▶ silver ─▶ gold ─▶ maintenance ─▶ check
                          └───▶ published (the asset that other DAGs wait for)

A failed run is simply run again: each task goes on where it stopped. docs/airflow.md is the guide.
"""

from __future__ import annotations

from airflow.sdk import DAG

from binlake_airflow.command_task import command_task, status_check
from binlake_airflow.dag_arguments import dag_arguments
from binlake_airflow.gold_asset import publish
from binlake_airflow.params import FULL_REFRESH, FULL_REFRESH_OPTION, UNTIL, UNTIL_OPTION
from binlake_airflow.source import Source
from binlake_airflow.sources import make_dags


def replication(source: Source) -> DAG:
    """The DAG of one source."""
    with DAG(
        **dag_arguments(source, "replication"),
        schedule=source.options.schedule,
        description=f"New binlogs of {source.name} to gold tables",
        doc_md=__doc__,
        params={"until": UNTIL, "full_refresh": FULL_REFRESH},
    ) as dag:
        bronze = command_task(source, "bronze", "ingest")
        silver = command_task(source, "silver", "decode", options=FULL_REFRESH_OPTION)
        gold = command_task(
            source, "gold", "apply", options={**UNTIL_OPTION, **FULL_REFRESH_OPTION}
        )
        check = status_check(source)

        bronze >> silver >> gold
        publish(source.name, gold.output)
        if source.options.maintenance is None:
            gold >> command_task(source, "maintenance", "maintain") >> check
        else:
            gold >> check
    return dag


globals().update(make_dags(replication, tell=True))
