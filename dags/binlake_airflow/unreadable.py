"""The DAG of a source whose file cannot be used: it is listed, and fails with the reason."""

from __future__ import annotations

import re
from datetime import datetime, timezone
from pathlib import Path

from airflow.sdk import DAG, task
from airflow.sdk.exceptions import AirflowFailException


def unreadable(file: Path, reason: str) -> DAG:
    """Return a DAG with a task that fails every hour, so that Airflow's alerts include it."""
    # a.yml becomes `a`, but a.yaml `a.yaml`: both files may exist.
    name = re.sub(r"[^A-Za-z0-9_.-]", "_", file.name.removesuffix(".yml"))

    @task(retries=0)
    def read() -> None:
        raise AirflowFailException(reason)

    with DAG(
        dag_id=f"binlake_{name}_unreadable",
        description=reason[:1000],
        schedule="@hourly",
        start_date=datetime(2026, 1, 1, tzinfo=timezone.utc),
        catchup=False,
        is_paused_upon_creation=False,
        tags=["binlake", "unreadable"],
    ) as dag:
        read()
    return dag
