"""The replication DAG of each source, as Airflow loads it."""

from __future__ import annotations

from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest
from airflow.dag_processing.dagbag import DagBag
from airflow.sdk import DAG, Asset
from airflow.sdk.exceptions import ParamValidationError

from binlake_airflow.dag_arguments import dag_arguments
from binlake_airflow.source import Options, Source
from pipeline.settings.until import Until

FILE = Path("shop.yml")


def test_every_dag_loads(bag: DagBag) -> None:
    assert bag.import_errors == {}
    assert set(bag.dags) == {
        "binlake_shop_replication",
        "binlake_shop_backfill",
        "binlake_shop_maintenance",
        "binlake_crm_replication",
        "binlake_crm_backfill",
        "binlake_crm_maintenance",
        "binlake_wrong_unreadable",
        "example_binlake_report",
    }


@pytest.mark.parametrize(
    ("source", "downstream"),
    [
        ("shop", {"run": {"check", "published"}}),
        ("crm", {"bronze": {"silver"}, "silver": {"gold"}, "gold": {"check", "published"}}),
    ],
    ids=["one task", "a task per layer"],
)
def test_the_layers_run_in_order(bag: DagBag, source: str, downstream: dict[str, set[str]]) -> None:
    dag = bag.dags[f"binlake_{source}_replication"]
    found = {task.task_id: task.downstream_task_ids for task in dag.tasks}
    assert found == {**downstream, "check": set(), "published": set()}


def test_maintenance_has_a_schedule_of_its_own(bag: DagBag) -> None:
    assert bag.dags["binlake_shop_maintenance"].schedule == "@daily"
    assert bag.dags["binlake_crm_maintenance"].schedule == "0 3 * * *"


def test_maintenance_is_not_kept_waiting_by_replications_without_a_pause(bag: DagBag) -> None:
    (task,) = bag.dags["binlake_shop_maintenance"].tasks
    replication = bag.dags["binlake_shop_replication"]
    # A task's weight is by default that of all tasks after it, too.
    total = sum(each.priority_weight for each in replication.tasks)
    assert task.pool == replication.get_task("run").pool
    assert task.priority_weight > total


def test_commands_and_options(bag: DagBag) -> None:
    until, refresh = "{{ params.until or '' }}", "{{ params.full_refresh }}"
    checked_until = "{{ params.full_refresh and params.until or '' }}"
    options = {"--until": until, "--full-refresh": refresh}
    check = (("status", "--check"), {})
    assert _commands(bag.dags["binlake_shop_replication"]) == {
        "run": (("run",), options),
        "check": check,
    }
    assert _commands(bag.dags["binlake_crm_replication"]) == {
        "bronze": (("ingest",), {}),
        # A full refresh checks first that gold can stop there.
        "silver": (("decode",), {**options, "--until": checked_until}),
        "gold": (("apply",), options),
        "check": check,
    }


def _commands(dag: DAG) -> dict[str, tuple[tuple[str, ...], dict[str, str]]]:
    tasks: Any = [task for task in dag.tasks if task.task_id != "published"]
    return {task.task_id: (task.command, task.options) for task in tasks}


@pytest.mark.parametrize(
    ("source", "operator", "pool", "retries", "delay", "timeout", "schedule"),
    [
        ("shop", "Local", "binlake_shop", 3, timedelta(minutes=2), timedelta(hours=4), "*/15 *"),
        ("crm", "Spark", "lake", 5, timedelta(minutes=30), timedelta(days=2), "@hourly"),
    ],
)
def test_tasks_have_the_sources_operator_pool_and_retries(
    bag: DagBag,
    source: str,
    operator: str,
    pool: str,
    retries: int,
    delay: timedelta,
    timeout: timedelta,
    schedule: str,
) -> None:
    dag = bag.dags[f"binlake_{source}_replication"]
    assert str(dag.schedule).startswith(schedule)
    assert (dag.max_active_runs, dag.catchup) == (1, False)
    for task in dag.tasks:
        if task.task_id == "published":
            continue
        assert type(task).__name__ == f"Binlake{operator}Operator"
        assert (task.pool, task.pool_slots) == (pool, 1)
        assert (task.retries, task.retry_delay) == (retries, delay)
        assert task.retry_exponential_backoff
        assert task.execution_timeout == timeout


@pytest.mark.parametrize("kind", ["replication", "backfill", "maintenance"])
def test_all_dags_of_a_source_share_its_pool_and_run_once_at_a_time(bag: DagBag, kind: str) -> None:
    dag = bag.dags[f"binlake_shop_{kind}"]
    assert dag.max_active_runs == 1
    pools = {t.pool for t in dag.tasks if hasattr(t, "command") or t.is_mapped}
    assert pools == {"binlake_shop"}


def test_publishing_gold_updates_its_asset(bag: DagBag) -> None:
    gold = Asset(name="binlake_shop_gold", uri="binlake://shop/gold", group="binlake")
    dag = bag.dags["binlake_shop_replication"]
    assert [t.task_id for t in dag.tasks if t.outlets] == ["published"]
    assert dag.get_task("published").outlets == [gold]
    assert bag.dags["example_binlake_report"].schedule == [gold]


def test_parameters_have_a_schema(bag: DagBag) -> None:
    params = bag.dags["binlake_shop_replication"].params
    assert params.dump() == {"until": None, "full_refresh": False}
    for wrong in ("", 7, "yesterday", "binlog.000042", "2026-11", "shop-1-2"):
        with pytest.raises(ParamValidationError):
            params.get_param("until").resolve(wrong)
    with pytest.raises(ParamValidationError):
        params.get_param("full_refresh").resolve("yes")


@pytest.mark.parametrize(
    "until",
    [
        *("2026-11-22T10:00:00Z", "2026-11-22 10:00:00.5+01:00", "2026-11-22", "4398046511108"),
        *("binlog.000042:1234", "mariadb-bin.000001:4", "0-1-42"),
        *("3E11FA47-71CA-11E1-9E33-C80AA9429562:23", "3e11fa47-71ca-11e1-9e33-c80aa9429562:tag:5"),
    ],
)
def test_until_accepts_every_form_that_gold_reads(bag: DagBag, until: str) -> None:
    params = bag.dags["binlake_shop_replication"].params
    assert params.get_param("until").resolve(until) == until
    assert Until.read(until).text == until


def test_the_longest_delay_is_not_shorter_than_the_first(bag: DagBag) -> None:
    own = Source(name="s", file=FILE, options=Options(retry_delay=timedelta(hours=2)))
    assert dag_arguments(own, "x")["default_args"]["max_retry_delay"] == timedelta(hours=2)
    of_shop = bag.dags["binlake_shop_replication"].default_args
    assert of_shop["max_retry_delay"] == timedelta(minutes=30)


def test_an_invalid_source_has_a_dag_that_fails_with_the_reason(bag: DagBag) -> None:
    dag = bag.dags["binlake_wrong_unreadable"]
    reason = "wrong.yml:2: airflow.schedul is not a setting; did you mean airflow.schedule?"
    assert reason in str(dag.description)
    assert dag.dag_display_name.startswith(f"Unreadable: {reason}")
    assert dag.schedule == "@hourly"
