"""The newest file of the input, and when it is stale."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from datetime import datetime, timedelta, timezone

import pytest

from pipeline.bronze.newest_file import InputAge
from pipeline.source.logs.listing import Binlog, Listing

NOW = datetime(2026, 11, 22, 12, tzinfo=timezone.utc)
HOUR = timedelta(hours=1)


@pytest.fixture
def listing(binlog: Callable[..., Binlog]) -> Callable[..., Listing]:
    """`listing(3, None)`: files that were written so many hours ago, or at an unknown time."""

    def make(*ages: float | None) -> Listing:
        files = []
        for number, age in enumerate(ages, 1):
            file = binlog(f"binlog.{number:06}")
            at = None if age is None else NOW - age * HOUR
            files.append(replace(file, stored=replace(file.stored, written_at=at)))
        return Listing(tuple(files), 0, (), ())

    return make


def test_the_newest_file_is_the_one_written_last_not_the_last_number(
    listing: Callable[..., Listing],
) -> None:
    newest = InputAge.of(listing(5, 2, 3, None), None).newest
    assert newest is not None
    assert (newest.name, newest.written_at) == ("binlog.000002", NOW - 2 * HOUR)


@pytest.mark.parametrize(
    ("ages", "stale", "faults", "notes"),
    [
        ((3, 1), 2, 0, 0),
        ((3, 2), 2, 0, 0),
        ((3, 2.1), 2, 1, 0),
        ((3, 2.1), None, 0, 0),
        ((None,), 2, 0, 1),
        ((None,), None, 0, 0),
        ((), 2, 0, 1),
    ],
)
def test_an_input_is_stale_if_its_newest_file_is_older(
    listing: Callable[..., Listing],
    ages: tuple[float | None, ...],
    stale: float | None,
    faults: int,
    notes: int,
) -> None:
    freshness = InputAge.of(listing(*ages), None if stale is None else stale * HOUR)
    assert (len(list(freshness.faults(NOW))), len(list(freshness.notes()))) == (faults, notes)


def test_the_sentence_stays_the_same_while_the_file_is_stale(
    listing: Callable[..., Listing],
) -> None:
    freshness = InputAge.of(listing(30), 2 * HOUR)
    (sentence,) = freshness.faults(NOW)
    assert "binlog.000001, was last written at 2026-11-21 06:00:00 UTC" in sentence
    assert "stale (2 h 0 min)" in sentence
    assert list(freshness.faults(NOW + HOUR)) == [sentence]
