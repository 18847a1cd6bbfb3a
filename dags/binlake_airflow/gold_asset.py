"""A source's gold as an asset, for other DAGs to wait for, and the task that says it is new."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from airflow.sdk import Asset, Context, Metadata, XComArg, get_current_context, task
from airflow.sdk.exceptions import AirflowSkipException


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
        if not is_new(steps) and told_before(get_current_context()):
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

    Nor has one that somebody marked as failed, or that took too long: what had not begun by then is
    skipped without a try.
    """
    before = context["ti"].get_previous_ti()
    if before is None or before.state == "success":
        return True
    return before.state == "skipped" and before.try_number > 0
