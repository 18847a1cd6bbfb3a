"""Arguments shared by all DAGs of a source."""

from __future__ import annotations

from datetime import datetime, timedelta, timezone
from typing import Any

from binlake_airflow.source import Source

LONGEST_DELAY = timedelta(minutes=30)
"""The longest delay between two attempts, unless `retry_delay` itself is longer."""


def dag_arguments(source: Source, kind: str) -> dict[str, Any]:
    """Return arguments for one run at a time, without catchup, and with retries.

    Catchup is not needed, as one run takes all files that have arrived. Retries are safe: a layer
    resumes its open plan first.
    """
    return {
        "dag_id": source.dag_id(kind),
        # Registered by `sources.make_dags` after validation.
        "auto_register": False,
        "start_date": datetime(2026, 1, 1, tzinfo=timezone.utc),
        "catchup": False,
        "max_active_runs": 1,
        "default_args": {
            "owner": source.options.owner,
            "retries": source.options.retries,
            "retry_delay": source.options.retry_delay,
            "retry_exponential_backoff": True,
            "max_retry_delay": max(source.options.retry_delay, LONGEST_DELAY),
        },
        "tags": ["binlake", source.name, kind],
    }
