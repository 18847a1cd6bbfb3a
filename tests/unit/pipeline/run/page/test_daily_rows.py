"""Rows by day and table."""

from __future__ import annotations

from datetime import date, timedelta

import pytest

from pipeline.run.page.daily_rows import LEAST_DAYS, STRIPS, daily_rows, figures
from tests.support.page.made_page import NOW, made_run

TODAY, YESTERDAY = NOW.date(), NOW.date() - timedelta(days=1)
DAY = timedelta(days=1)


def test_rows_count_on_the_day_in_utc_that_the_run_started() -> None:
    midnight = NOW.replace(hour=0, minute=0, second=0)
    runs = [
        made_run(NOW, rows={"shop.a": 5, "shop.b": 1}),
        made_run(midnight, rows={"shop.a": 7}),
        made_run(midnight - timedelta(seconds=1), rows={"shop.a": 100, "shop.b": 2}),
    ]
    found = daily_rows(runs, NOW - 30 * DAY, NOW)
    assert list(found.by_table) == ["shop.a", "shop.b"]
    assert found.by_table["shop.a"] == {TODAY: 12, YESTERDAY: 100}
    assert found.total("shop.b") == 3


@pytest.mark.parametrize(
    ("age", "window", "shown"),
    [
        (timedelta(hours=1), 30, LEAST_DAYS),
        (10 * DAY, 30, 11),
        (29 * DAY, 30, 30),
        (2 * DAY, 1, LEAST_DAYS),
    ],
)
def test_days_begin_with_the_first_run_and_are_at_least_a_week(
    age: timedelta, window: int, shown: int
) -> None:
    found = daily_rows([made_run(NOW - age)], NOW - window * DAY, NOW)
    assert len(found.days) == shown
    assert found.days[-1] == TODAY


def test_all_tables_are_in_the_data_and_those_with_the_most_rows_in_the_chart() -> None:
    rows = {f"shop.t{n:02}": 1000 - n for n in range(40)}
    totals, tables = figures([made_run(NOW, rows=rows)], NOW - 7 * DAY, NOW)
    assert [row[0] for row in tables.table.rows] == list(rows)
    assert tables.table.rows[0][1:3] == ("1,000", "1,000")
    assert f"shop.t{STRIPS - 1:02}" in tables.wide
    assert f"shop.t{STRIPS:02}" not in tables.wide
    assert "The 10 tables with the most rows" in tables.caption
    first = totals.table.rows[0]
    assert date.fromisoformat(first[0]) == TODAY
    assert (first[1], first[-1]) == ("1", f"{sum(rows.values()):,}")


def test_without_rows_there_is_no_chart_but_the_days_are_listed() -> None:
    totals, tables = figures([made_run(NOW, outcome="failed", lag=None)], NOW - 7 * DAY, NOW)
    assert (totals.wide, tables.wide, tables.table.rows) == ("", "", ())
    assert totals.table.rows[0][1:3] == ("1", "1")
