"""The problems on a page: a failed run and unequal tables too, not only the status."""

from __future__ import annotations

from dataclasses import replace

import pytest

from pipeline.lake.ledger.run_record import Outcome
from pipeline.run.page.attention import attention
from pipeline.run.status import Status
from tests.support.page.made_page import NOW, made_run, made_table, source_of, verification


@pytest.mark.parametrize(
    ("outcome", "sentences"),
    [
        ("done", []),
        ("nothing_new", []),
        # Its faults are among the status's problems and held tables.
        ("faults", []),
        ("failed", ["shop: the last run failed. MySQL went away: <b>'db'</b>."]),
        ("interrupted", ["shop: the last run was interrupted."]),
    ],
)
def test_a_last_run_that_failed_is_a_problem(outcome: Outcome, sentences: list[str]) -> None:
    status = Status("/lake", (), (), (), (source_of(made_run(NOW, outcome=outcome)),))
    assert [one.sentence for one in attention(status).problems] == sentences


@pytest.mark.parametrize(("outcome", "count"), [("done", 0), ("faults", 1)])
def test_tables_that_differ_from_the_server_are_a_problem(outcome: Outcome, count: int) -> None:
    found = attention(Status("/lake", (), (), ()), [verification(outcome)])
    assert found.count == count


def test_overdue_maintenance_is_a_problem() -> None:
    source = replace(source_of(made_run(NOW)), overdue="shop has not been maintained for 2 days.")
    (found,) = attention(Status("/lake", (), (), (), (source,))).problems
    assert found.sentence == source.overdue


def test_a_held_table_has_the_commands_that_help() -> None:
    table = made_table("cu[p]", held=True, reason="binlog.000001, position 4: it is damaged.")
    (held,) = attention(Status("/my lake", (), (table,), ())).held
    assert (held.table, held.sentence) == ("shop.cu[p]", table.reason)
    assert [remedy.partition(" applies")[0].partition(" reads")[0] for remedy in held.remedies] == [
        "binlake retry --source shop --lake '/my lake'",
        "binlake seed --source shop --lake '/my lake' --table 'shop.cu[[]p]'",
    ]


def test_each_table_is_counted_once() -> None:
    tables = (
        made_table("held", held=True, complete=False, drift=2),
        made_table("drifted", drift=2),
        made_table("incomplete", complete=False),
        replace(made_table("dropped", complete=False), dropped=True),
        replace(made_table("unnamed"), named=False),
    )
    found = attention(Status("/lake", (), tables, ()))
    assert [one.table for one in found.held] == ["shop.held"]
    assert [one.table for one in found.incomplete] == ["shop.incomplete"]
    assert [one.table for one in found.drifted] == ["shop.drifted"]
    assert "shop.unnamed" in found.problems[0].sentence
