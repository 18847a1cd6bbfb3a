"""Age and lag of gold over time, from records of runs and the status."""

from __future__ import annotations

from dataclasses import replace
from datetime import datetime, timedelta

import pytest

from pipeline.run.page import freshness
from pipeline.run.page.freshness import POINTS, PublishedAge, figure, publications
from pipeline.run.page.lake_page import LakePage
from pipeline.run.status import Status
from tests.support.page.made_page import NOW, made_run, several_sources_page, source_of

MINUTE = timedelta(minutes=1)


def page(runs: int, *, every: timedelta, lag: float = 60.0, days: int = 30) -> LakePage:
    found = [made_run(NOW - every * n - MINUTE, seconds=30, lag=lag) for n in range(runs)]
    status = Status("/lake", (), (), (), (source_of(found[0]),))
    return LakePage(status, NOW, days, found)


def test_gold_is_as_old_as_the_previous_commit_until_a_run_publishes() -> None:
    found = publications(page(2, every=10 * MINUTE).runs, source_of(None))
    first, second = found
    assert (first.lag, first.before) == (60.0, None)
    assert (second.lag, second.peak) == (60.0, 660.0)


def test_what_a_killed_run_published_is_known_from_the_status() -> None:
    recorded = page(1, every=MINUTE)
    later = NOW - timedelta(seconds=1)
    status = replace(
        source_of(recorded.runs[0]), published_at=later, committed_at=later - 2 * MINUTE
    )
    found = publications(recorded.runs, status)
    assert [one.published_at for one in found] == [recorded.runs[0].published_at, later]
    assert found[-1].lag == 120.0


def test_the_line_rises_to_the_moment_when_the_page_was_made() -> None:
    shown = page(3, every=10 * MINUTE)
    points = list(freshness._line(shown, publications(shown.runs, shown.status.sources[0])))
    ages = [point["age"] for point in points]
    assert ages == [60, 660, 60, 660, 60, 90]
    assert [("lag" in point) for point in points] == [True, False, True, False, True, False]
    assert points == sorted(points, key=lambda point: point["at"])


def test_a_source_that_published_nothing_lately_grew_older_all_the_time() -> None:
    old = NOW - timedelta(days=40)
    shown = page(1, every=MINUTE)
    run = replace(shown.runs[0], published_at=old, cut_committed_at=old)
    shown = replace(shown, runs=[], status=replace(shown.status, sources=(source_of(run),)))
    points = list(freshness._line(shown, publications((), shown.status.sources[0])))
    assert [point["age"] / 86_400 for point in points] == [10, 40]
    assert "in days" in figure(shown).caption


@pytest.mark.parametrize(("count", "least"), [(POINTS, POINTS), (10 * POINTS, POINTS // 2)])
def test_of_many_publications_the_oldest_gold_of_each_interval_is_kept(
    count: int, least: int
) -> None:
    start: datetime = NOW - timedelta(days=20)
    made = [
        PublishedAge("shop", start + n * MINUTE, start + n * MINUTE, start + n * MINUTE - MINUTE)
        for n in range(count)
    ]
    worst = replace(made[count // 2], before=start - timedelta(days=3))
    made[count // 2] = worst
    kept = freshness._thinned(made)
    assert least <= len(kept) <= POINTS
    assert worst in kept
    assert kept == sorted(kept, key=lambda one: one.published_at)


def test_the_table_lists_the_last_publications_and_counts_the_rest() -> None:
    table = figure(page(freshness.LISTED + 5, every=10 * MINUTE)).table
    assert len(table.rows) == freshness.LISTED
    assert "the last 200 of 205" in table.caption
    assert table.rows[0][3:] == ("1 min 0 s", "11 min 0 s")


def test_each_source_has_a_line_of_its_own_and_one_without_snapshots_has_none() -> None:
    shown = figure(several_sources_page())
    assert "billing" in shown.wide
    assert "shop" in shown.wide
    assert "warehouse" not in shown.wide
    assert "Not drawn: 1 with" in shown.caption
