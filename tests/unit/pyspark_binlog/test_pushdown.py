"""Filters that Spark pushes down leave exactly the rows that Spark itself would leave."""

from __future__ import annotations

import operator
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from pyspark.sql.datasource import (
    EqualNullSafe,
    EqualTo,
    Filter,
    GreaterThan,
    GreaterThanOrEqual,
    In,
    IsNotNull,
    LessThan,
    LessThanOrEqual,
)

from tests.support.bronze.bronze_input import FILES
from tests.support.spark.binlog_rows import filtered, rows_of

TABLE = "shop.customers"
COMPARISONS: dict[type[Any], Callable[[Any, Any], bool]] = {
    EqualTo: operator.eq,
    GreaterThan: operator.gt,
    GreaterThanOrEqual: operator.ge,
    LessThan: operator.lt,
    LessThanOrEqual: operator.le,
}


@pytest.fixture(scope="module")
def logs(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a folder of the demo's last two logs."""
    folder = tmp_path_factory.mktemp("logs")
    for file in FILES[2:]:
        (folder / file.name).symlink_to(file)
    return folder


@pytest.fixture(scope="module")
def rows(logs: Path) -> list[dict[str, Any]]:
    found = rows_of(logs, table=TABLE)
    assert {row["__op"] for row in found} == {"insert", "update", "delete"}
    return found


@pytest.mark.parametrize("column", ["__lsn", "__committed_at", "__op"])
@pytest.mark.parametrize("kind", COMPARISONS)
@pytest.mark.parametrize("place", [0, 0.4, 0.6, 1])
def test_a_comparison_leaves_the_rows_that_meet_it(
    logs: Path, rows: list[dict[str, Any]], column: str, kind: Callable[..., Filter], place: float
) -> None:
    value = rows[round(place * (len(rows) - 1))][column]
    found, parts, left = filtered(logs, kind((column,), value), table=TABLE)
    assert found == [row for row in rows if COMPARISONS[kind](row[column], value)]
    assert left == []
    if column != "__op" and kind is EqualTo:
        assert parts < len(FILES[2:])


def test_several_filters_leave_the_rows_that_meet_all(
    logs: Path, rows: list[dict[str, Any]]
) -> None:
    some = tuple(row["__lsn"] for row in rows[::7])
    found, _, left = filtered(
        logs,
        In(("__lsn",), (*some, None)),
        IsNotNull(("__committed_at",)),
        EqualTo(("__op",), "update"),
        table=TABLE,
    )
    assert found == [row for row in rows if row["__lsn"] in some and row["__op"] == "update"]
    assert found
    assert left == []


@pytest.fixture
def west_of_greenwich(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Let this process's local time be five hours before UTC."""
    with monkeypatch.context() as patched:
        patched.setenv("TZ", "EST5")
        time.tzset()
        yield
    time.tzset()


@pytest.mark.usefixtures("west_of_greenwich")
def test_a_time_without_an_offset_is_in_utc_wherever_the_machine_is(
    logs: Path, rows: list[dict[str, Any]]
) -> None:
    """Spark sends such a value for a column that the user's schema has as TIMESTAMP_NTZ."""
    first = min(row["__committed_at"] for row in rows).replace(tzinfo=None)
    found, _, left = filtered(logs, GreaterThanOrEqual(("__committed_at",), first), table=TABLE)
    assert found == rows
    assert left == []


@pytest.mark.parametrize(
    "other",
    [
        EqualTo(("__pos",), 1),
        EqualTo(("after", "__lsn"), 1),
        EqualNullSafe(("__lsn",), 1),
    ],
)
def test_other_filters_are_left_to_spark(
    logs: Path, rows: list[dict[str, Any]], other: Filter
) -> None:
    assert filtered(logs, other, table=TABLE)[::2] == (rows, [other])
