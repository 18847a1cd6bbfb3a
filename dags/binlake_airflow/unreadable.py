"""The DAG of a source whose file cannot be used: it is seen, it fails, and it says why."""

from __future__ import annotations

import re
from datetime import datetime, timezone
from pathlib import Path

from airflow.sdk import DAG, task
from airflow.sdk.exceptions import AirflowFailException


def unreadable(file: Path, reason: str) -> DAG:
    """One task, every hour, so that whoever is told of failures is told of this one."""
    # a.yml is `a`; a.yaml may stand beside it.
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
