"""What all DAGs of a source have in common."""

from __future__ import annotations

from datetime import datetime, timedelta, timezone
from typing import Any

from binlake_airflow.source import Source

LONGEST_DELAY = timedelta(minutes=30)
"""Between two attempts, which come at ever longer intervals; unless the first is to be longer."""


def dag_arguments(source: Source, kind: str) -> dict[str, Any]:
    """One run at a time, nothing caught up (one run takes all there is), and safe retries.

    A task that is tried again goes on where it stopped: a layer finishes its own open plan first.
    """
    return {
        "dag_id": source.dag_id(kind),
        # Once it is known to be whole: see `sources.make_dags`.
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
