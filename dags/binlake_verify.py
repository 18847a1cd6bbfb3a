"""Compare gold with the source server, on the schedule **airflow.verify** of the settings.

It takes a snapshot of the server, which stays writable, and waits until the replication's next runs
publish gold at the same position of the log. A difference fails this DAG, not the replication.
"""

from __future__ import annotations

from airflow.sdk import DAG

from binlake_airflow.dag_arguments import dag_arguments
from binlake_airflow.dag_docs import document
from binlake_airflow.server_tasks import verify_task
from binlake_airflow.source import Source
from binlake_airflow.source_files import make_dags


def verify(source: Source) -> DAG:
    """Return the DAG of one source."""
    with DAG(
        **dag_arguments(source, "verify"),
        schedule=source.options.verify,
        description=f"Compare gold with the server of {source.name}",
    ) as dag:
        verify_task(source)
    document(dag, source, __doc__ or "")
    return dag


globals().update(make_dags(verify, where=lambda source: source.options.verify is not None))
