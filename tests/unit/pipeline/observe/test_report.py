"""Sentences of reports: held tables with one cause, the newest file."""

from __future__ import annotations

from datetime import datetime, timedelta, timezone

from pipeline.observe.report import NewestFile, sentences_by_cause

NO_NAMES = "the log has no column names: seed it"
HELD = "Affected tables (held just before this position, unless on_fault is mark)"


def sentences(*held: tuple[str, str]) -> list[str]:
    return sentences_by_cause(held, "{} is held: {}".format)


def test_tables_with_one_cause_are_counted_and_the_first_named() -> None:
    held = [
        (f"shop.t{n}", f"binlog.000001, position {n}: TABLE_MAP: {NO_NAMES}. {HELD}: t{n}. Retry.")
        for n in range(9)
    ]
    (found,) = sentences(*held)
    assert found == (
        f"9 tables are held, shop.t0, shop.t1, shop.t2 and 6 more: {NO_NAMES}."
        " The first at binlog.000001, position 0."
    )
    (found,) = sentences(held[0], ("shop.u", f"binlog.000002, position 7: {NO_NAMES}"))
    assert found.startswith(f"2 tables are held, shop.t0, shop.u: {NO_NAMES}.")


def test_tables_with_different_causes_are_reported_one_by_one() -> None:
    waits = "it waits for shop.parent: no key"
    assert sentences(("a.b", "f, position 1: x"), ("a.c", "f, position 1: y"), ("a.d", waits)) == [
        "a.b is held: f, position 1: x",
        "a.c is held: f, position 1: y",
        f"a.d is held: {waits}",
    ]
    twice = (("a.b", "f, position 1: x"), ("a.b", "f, position 2: x"))
    assert sentences(*twice) == [f"a.b is held: {reason}" for _, reason in twice]
    assert sentences(("a.b", waits), ("a.c", waits)) == [f"2 tables are held, a.b, a.c: {waits}."]


def test_the_newest_file_has_its_age() -> None:
    now = datetime(2026, 11, 22, 12, tzinfo=timezone.utc)
    newest = NewestFile("binlog.000004", now - timedelta(hours=3, minutes=12))
    assert newest.sentence(now) == "the newest file, binlog.000004, is 3 h 12 min old"
