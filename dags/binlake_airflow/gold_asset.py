"""A source's gold tables as an Airflow asset, and the task that updates it."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from airflow.sdk import Asset, Context, Metadata, XComArg, get_current_context, task
from airflow.sdk.exceptions import AirflowSkipException

from binlake_airflow.dag_docs import task_docs

UNCHANGED = "nothing_to_tell"
"""The XCom key of a `published` task that was skipped because gold had not changed."""


def gold_asset(source: str) -> Asset:
    """Return `Asset("binlake_shop_gold")`: all gold tables at the latest published snapshot."""
    return Asset(name=f"binlake_{source}_gold", uri=f"binlake://{source}/gold", group="binlake")


def publish(source: str, gold: XComArg) -> XComArg:
    """Return the task `published`, which emits an asset event with the snapshot, or is skipped.

    `gold` is the result of the task that applies, or the list of the results of its steps.
    """
    asset = gold_asset(source)

    @task(task_id="published", outlets=[asset], doc_md=task_docs("published"))
    def published(results: Any) -> Iterable[Metadata]:
        steps: list[Mapping[str, Any]] = (
            [results] if isinstance(results, Mapping) else list(results)
        )
        context = get_current_context()
        if not is_new(steps) and previous_run_reported(context):
            context["ti"].xcom_push(key=UNCHANGED, value=True)
            raise AirflowSkipException("Gold has not changed: no asset event is emitted.")
        cuts = [step for step in steps if "cut_lsn" in step]
        yield Metadata(asset, extra=dict(cuts[-1]) if cuts else {})

    return published(gold)


def is_new(steps: Iterable[Mapping[str, Any]]) -> bool:
    """Return True if gold may have published a new snapshot.

    That is unknown if the command's output is not visible here (a driver in the cluster), or if
    an earlier attempt failed, possibly after publishing. Otherwise the command reports the
    snapshot (`cut_lsn`) that it published; a run that only reports held tables has none.
    """
    return any("outcome" not in s or "cut_lsn" in s or s["attempt"] > 1 for s in steps)


def previous_run_reported(context: Context) -> bool:
    """Return True if the previous run emitted an event for everything that gold had published.

    A failed run may not have. Nor a run that somebody marked as failed: its waiting tasks are
    skipped too, but without the XCom of a skip because of unchanged gold.
    """
    ti = context["ti"]
    previous = ti.get_previous_ti()
    if previous is None or previous.state == "success":
        return True
    if previous.state != "skipped":
        return False
    return bool(ti.xcom_pull(task_ids=ti.task_id, key=UNCHANGED, run_id=previous.run_id))
