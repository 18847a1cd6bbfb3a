"""Airflow: from new binlog files to gold tables, for each source in conf/sources.

    (capture ─▶ seed ─▶) bronze ─▶ silver ─▶ gold ─▶ maintenance ─▶ check
                                               └───▶ published (the asset that other DAGs wait for)

A failed run is simply run again: each task goes on where it stopped. See docs/guides/airflow.md.
"""

from __future__ import annotations

from airflow.sdk import DAG, TriggerRule

from binlake_airflow.command_task import command_task, status_check
from binlake_airflow.dag_arguments import dag_arguments
from binlake_airflow.gold_asset import publish
from binlake_airflow.params import (
    FULL_REFRESH,
    FULL_REFRESH_OPTION,
    LOOKED_FOR_OPTION,
    UNTIL,
    UNTIL_OPTION,
)
from binlake_airflow.server_tasks import before_bronze
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
        capture, seed = before_bronze(source)
        # Whatever becomes of those: what is landed is replicated, and tables that gold has.
        bronze = command_task(source, "bronze", "ingest", trigger_rule=TriggerRule.ALL_DONE)
        silver = command_task(
            source, "silver", "decode", options={**LOOKED_FOR_OPTION, **FULL_REFRESH_OPTION}
        )
        gold = command_task(
            source, "gold", "apply", options={**UNTIL_OPTION, **FULL_REFRESH_OPTION}
        )
        check = status_check(source)

        [*capture, *seed] >> bronze
        # So that a run in which one of them fails is a run that has failed.
        [*capture, *seed] >> check
        bronze >> silver >> gold
        publish(source.name, gold.output)
        if source.options.maintenance is None:
            gold >> command_task(source, "maintenance", "maintain") >> check
        else:
            gold >> check
    return dag


globals().update(make_dags(replication, tell=True))
