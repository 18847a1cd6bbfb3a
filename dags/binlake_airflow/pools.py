"""Print the pools of all sources as JSON for `airflow pools import`.

Run in the folder of the DAGs: `python -m binlake_airflow.pools > pools.json`. Airflow never starts
a task whose pool does not exist; the DAG's page shows a warning then.
"""

from __future__ import annotations

import json

from binlake_airflow.source_files import read_sources

DESCRIPTION = "Binlake: one task of a source at a time"


def pools() -> dict[str, dict[str, object]]:
    """Return each pool with one slot; sources may share a pool."""
    return {
        source.pool: {"slots": 1, "description": DESCRIPTION, "include_deferred": True}
        for source in read_sources()
    }


if __name__ == "__main__":
    print(json.dumps(pools(), indent=2))
