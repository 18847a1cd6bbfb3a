"""Airflow: removes what nothing needs any more, and lays tables out anew, for each source.

By itself where the source's file says when (`maintenance`); else it is part of the replication, and
this DAG is for by hand: a dry run says what would be done.
"""

from __future__ import annotations

from airflow.sdk import DAG

from binlake_airflow.command_task import command_task
from binlake_airflow.dag_arguments import dag_arguments
from binlake_airflow.params import DRY_RUN, DRY_RUN_OPTION
from binlake_airflow.source import Source
from binlake_airflow.sources import make_dags


def maintenance(source: Source) -> DAG:
    """The DAG of one source."""
    with DAG(
        **dag_arguments(source, "maintenance"),
        schedule=source.options.maintenance,
        description=f"Retention and layout of the lake's tables of {source.name}",
        doc_md=__doc__,
        params={"dry_run": DRY_RUN},
    ) as dag:
        command_task(source, "maintenance", "maintain", options=DRY_RUN_OPTION)
    return dag


globals().update(make_dags(maintenance))
