"""Airflow: an example of a DAG that waits for gold: it runs when a new cut of `shop` is published.

Other DAGs need nothing of Binlake's for that but the asset's name.
"""

from __future__ import annotations

from typing import Any

from airflow.sdk import DAG, Asset, task

SHOP = Asset(name="binlake_shop_gold", uri="binlake://shop/gold", group="binlake")


@task
def report(**context: Any) -> list[dict[str, Any]]:
    """The cuts that this run is for: read gold at them, or at the newest."""
    cuts = [dict(event.extra) for event in context["triggering_asset_events"][SHOP]]
    for cut in cuts:
        print(f"Gold is at LSN {cut.get('cut_lsn')}, committed at {cut.get('cut_committed_at')}.")
    return cuts


with DAG(
    dag_id="example_binlake_report", schedule=[SHOP], catchup=False, tags=["binlake", "example"]
):
    report()
