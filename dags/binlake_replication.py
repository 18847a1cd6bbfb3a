"""Airflow: replicate new binlog files to gold tables, for each source in conf/sources.

    (capture ─▶ seed ─▶) bronze ─▶ silver ─▶ gold ─▶ maintenance ─▶ check
                                               └───▶ published (updates the asset for other DAGs)

To recover from a failed run, run it again: each task resumes where it stopped. See
docs/guides/airflow.md.
"""

from __future__ import annotations

from airflow.sdk import DAG, TriggerRule

from binlake_airflow.command_task import command_task, status_check
from binlake_airflow.dag_arguments import dag_arguments
from binlake_airflow.gold_asset import publish
from binlake_airflow.params import (
    CHECKED_UNTIL_OPTION,
    FULL_REFRESH,
    FULL_REFRESH_OPTION,
    UNTIL,
    UNTIL_OPTION,
)
from binlake_airflow.server_tasks import before_bronze
from binlake_airflow.source import Source
from binlake_airflow.sources import make_dags


def replication(source: Source) -> DAG:
    """Return the DAG of one source."""
    with DAG(
        **dag_arguments(source, "replication"),
        schedule=source.options.schedule,
        description=f"Replicate new binlogs of {source.name} to gold tables",
        doc_md=__doc__,
        params={"until": UNTIL, "full_refresh": FULL_REFRESH},
    ) as dag:
        capture, seed = before_bronze(source)
        # Also if capture or seed fails: landed files and seeded tables are still replicated.
        bronze = command_task(source, "bronze", "ingest", trigger_rule=TriggerRule.ALL_DONE)
        silver = command_task(
            source, "silver", "decode", options={**CHECKED_UNTIL_OPTION, **FULL_REFRESH_OPTION}
        )
        gold = command_task(
            source, "gold", "apply", options={**UNTIL_OPTION, **FULL_REFRESH_OPTION}
        )
        check = status_check(source)

        [*capture, *seed] >> bronze
        # A failed capture or seed must fail the run.
        [*capture, *seed] >> check
        bronze >> silver >> gold
        publish(source.name, gold.output)
        if source.options.maintenance is None:
            gold >> command_task(source, "maintenance", "maintain") >> check
        else:
            gold >> check
    return dag


globals().update(make_dags(replication, report_errors=True))
