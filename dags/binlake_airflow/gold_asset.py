"""A source's gold as an asset, for other DAGs to wait for, and the task that says it is new."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from airflow.sdk import Asset, Context, Metadata, XComArg, get_current_context, task
from airflow.sdk.exceptions import AirflowSkipException

NOTHING_TO_TELL = "nothing_to_tell"
"""What a run leaves whose gold is where it was."""


def gold_asset(source: str) -> Asset:
    """`Asset("binlake_shop_gold")`: all tables of a source, at the cut that was published last."""
    return Asset(name=f"binlake_{source}_gold", uri=f"binlake://{source}/gold", group="binlake")


def publish(source: str, gold: XComArg) -> XComArg:
    """The task `published` behind gold: an event of the asset with the cut, or skipped.

    `gold` is what gold's task, or all of its steps, said of their ends.
    """
    asset = gold_asset(source)

    @task(task_id="published", outlets=[asset])
    def published(told: Any) -> Iterable[Metadata]:
        steps: list[Mapping[str, Any]] = [told] if isinstance(told, Mapping) else list(told)
        context = get_current_context()
        if not is_new(steps) and told_before(context):
            context["ti"].xcom_push(key=NOTHING_TO_TELL, value=True)
            raise AirflowSkipException("Gold is where it was: nobody needs to be told.")
        cuts = [step for step in steps if "cut_lsn" in step]
        yield Metadata(asset, extra=dict(cuts[-1]) if cuts else {})

    return published(gold)


def is_new(steps: Iterable[Mapping[str, Any]]) -> bool:
    """Whether gold may have come further.

    Where the command's output is not seen (a driver in the cluster), nothing is known. An attempt
    before the last one may have published and failed then. Else the command names the cut that it
    published: a run that only says again what is held names none.
    """
    return any("outcome" not in s or "cut_lsn" in s or s["attempt"] > 1 for s in steps)


def told_before(context: Context) -> bool:
    """Whether what gold published in the run before was told: a run that failed may not have.

    Nor has one that somebody marked as failed: what waits then is skipped as well, and has not left
    the mark of a task that had nothing to tell.
    """
    ti = context["ti"]
    before = ti.get_previous_ti()
    if before is None or before.state == "success":
        return True
    if before.state != "skipped":
        return False
    return bool(ti.xcom_pull(task_ids=ti.task_id, key=NOTHING_TO_TELL, run_id=before.run_id))
