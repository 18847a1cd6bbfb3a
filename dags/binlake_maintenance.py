"""Airflow: apply retention, compact and vacuum the lake's tables, for each source in conf/sources.

It runs on the schedule `airflow.maintenance` of the source's file. Without one, maintenance is part
of the replication, and this DAG can be triggered manually: a dry run logs what would be done.
"""

from __future__ import annotations

from airflow.sdk import DAG

from binlake_airflow.command_task import command_task
from binlake_airflow.dag_arguments import dag_arguments
from binlake_airflow.params import DRY_RUN, DRY_RUN_OPTION
from binlake_airflow.source import Source
from binlake_airflow.sources import make_dags


def maintenance(source: Source) -> DAG:
    """Return the DAG of one source."""
    with DAG(
        **dag_arguments(source, "maintenance"),
        schedule=source.options.maintenance,
        description=f"Apply retention, compact and vacuum the tables of {source.name}",
        doc_md=__doc__,
        params={"dry_run": DRY_RUN},
    ) as dag:
        command_task(source, "maintenance", "maintain", options=DRY_RUN_OPTION)
    return dag


globals().update(make_dags(maintenance))
