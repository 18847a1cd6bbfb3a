"""Airflow: compares gold with the source server, for each source in conf/sources that says when.

A snapshot of the server is taken while it is written to, and gold publishes a cut at its place in
the log: the replication's next runs do, and this one waits for them. A difference fails it, and
keeps nobody from anything. docs/guides/verify.md says what is compared.
"""

from __future__ import annotations

from airflow.sdk import DAG

from binlake_airflow.dag_arguments import dag_arguments
from binlake_airflow.server_tasks import verify_task
from binlake_airflow.source import Source
from binlake_airflow.sources import make_dags


def verify(source: Source) -> DAG:
    """The DAG of one source."""
    with DAG(
        **dag_arguments(source, "verify"),
        schedule=source.options.verify,
        description=f"Whether gold is what the server of {source.name} has",
        doc_md=__doc__,
    ) as dag:
        verify_task(source)
    return dag


globals().update(make_dags(verify, where=lambda source: source.options.verify is not None))
