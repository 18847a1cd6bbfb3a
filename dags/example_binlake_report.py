"""Airflow: an example of a DAG that runs when gold publishes a new consistent snapshot of `shop`.

Such a DAG needs only the asset's name, no code of Binlake.
"""

from __future__ import annotations

from typing import Any

from airflow.sdk import DAG, Asset, task

SHOP = Asset(name="binlake_shop_gold", uri="binlake://shop/gold", group="binlake")


@task
def report(**context: Any) -> list[dict[str, Any]]:
    """Return the snapshots that triggered this run; read gold at these, or at the latest."""
    cuts = [dict(event.extra) for event in context["triggering_asset_events"][SHOP]]
    for cut in cuts:
        print(f"Gold is at LSN {cut.get('cut_lsn')}, committed at {cut.get('cut_committed_at')}.")
    return cuts


with DAG(
    dag_id="example_binlake_report", schedule=[SHOP], catchup=False, tags=["binlake", "example"]
):
    report()
