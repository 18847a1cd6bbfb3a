"""The backfill DAG, and gold's steps in it."""

from __future__ import annotations

import pytest
from airflow.dag_processing.dagbag import DagBag
from airflow.sdk.exceptions import ParamValidationError

from binlake_airflow.stops import stops


def test_all_files_are_decoded_before_golds_steps(bag: DagBag) -> None:
    dag = bag.dags["binlake_shop_backfill"]
    assert {task.task_id: task.downstream_task_ids for task in dag.tasks} == {
        "binlogs": {"bronze"},
        "bronze": {"silver"},
        "silver": {"gold"},
        "steps": {"gold"},
        "gold": {"published", "check"},
        "published": set(),
        "check": set(),
    }
    assert dag.get_task("gold").is_mapped
    assert dag.get_task("published").outlets


@pytest.mark.parametrize("wrong", [[], [""], "/archive", [1]])
def test_binlogs_must_be_a_list_of_paths(bag: DagBag, wrong: object) -> None:
    params = bag.dags["binlake_shop_backfill"].params
    with pytest.raises(ParamValidationError):
        params.get_param("binlogs").resolve(wrong)


@pytest.mark.parametrize(
    ("since", "until", "every", "expected"),
    [
        (None, None, None, [""]),
        (None, "binlog.000003:4", None, ["binlog.000003:4"]),
        (
            "2026-01-01T00:00:00Z",
            "2026-01-02T01:00:00Z",
            12,
            ["2026-01-01T12:00:00+00:00", "2026-01-02T00:00:00+00:00", "2026-01-02T01:00:00+00:00"],
        ),
        # Not 20260102, which would be an LSN.
        ("2026-01-01", "20260102", 24, ["2026-01-02T00:00:00+00:00"]),
        (
            "2026-01-01T00:00:00+01:00",
            "2026-01-01T02:00:00",
            2,
            ["2026-01-01T02:00:00+01:00", "2026-01-01T02:00:00+00:00"],
        ),
    ],
)
def test_stops_are_every_so_many_hours_and_at_the_end(
    since: str | None, until: str | None, every: int | None, expected: list[str]
) -> None:
    assert stops(since, until, every) == expected


@pytest.mark.parametrize(
    ("since", "until", "every", "message"),
    [
        (None, "2026-01-02", 1, "needs since and until"),
        ("2026-01-02", None, 1, "needs since and until"),
        ("2026-01-01", "2026-01-02", None, "since also needs every"),
        ("2026-01-02", "2026-01-02", 1, "not before"),
        ("2026-01-02", "binlog.000003:4", 1, "is not a time"),
        ("2000-01-01", "2026-01-01", 1, "more than 1000"),
    ],
)
def test_parameters_that_define_no_steps_are_refused(
    since: str | None, until: str | None, every: int | None, message: str
) -> None:
    with pytest.raises(ValueError, match=message):
        stops(since, until, every)
