"""Prints the pools of all sources, as `airflow pools import` reads them.

Run where Airflow's DAGs are: `python -m binlake_airflow.pools > pools.json`. Tasks whose pool is
not there are never started, and Airflow's page of the DAG says so.
"""

from __future__ import annotations

import json

from binlake_airflow.sources import read_sources

DESCRIPTION = "Binlake: one task of a source at a time"


def pools() -> dict[str, dict[str, object]]:
    """One slot each; sources may name the same pool."""
    return {
        source.pool: {"slots": 1, "description": DESCRIPTION, "include_deferred": True}
        for source in read_sources()
    }


if __name__ == "__main__":
    print(json.dumps(pools(), indent=2))
