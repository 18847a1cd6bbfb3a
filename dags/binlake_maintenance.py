"""Apply retention, compact and vacuum a source's tables in the lake.

It runs on the schedule **airflow.maintenance** of the settings, daily by default. While it is
paused, files and published snapshots accumulate; after two days, the log of the replication's check
says so. With **dry run**, the log lists what would be done.
"""

from __future__ import annotations

from airflow.sdk import DAG

from binlake_airflow.command_task import command_task
from binlake_airflow.dag_arguments import dag_arguments
from binlake_airflow.dag_docs import document
from binlake_airflow.params import DRY_RUN, DRY_RUN_OPTION
from binlake_airflow.source import Source
from binlake_airflow.source_files import make_dags

FIRST = 100
"""The priority in the source's pool, above that of any replication: one that runs without a pause
would otherwise keep maintenance waiting forever."""


def maintenance(source: Source) -> DAG:
    """Return the DAG of one source."""
    with DAG(
        **dag_arguments(source, "maintenance"),
        schedule=source.options.maintenance,
        description=f"Apply retention, compact and vacuum the tables of {source.name}",
        params={"dry_run": DRY_RUN},
    ) as dag:
        options = DRY_RUN_OPTION
        command_task(source, "maintenance", "maintain", options=options, priority_weight=FIRST)
    document(dag, source, __doc__ or "")
    return dag


globals().update(make_dags(maintenance))
