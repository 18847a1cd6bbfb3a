"""Two writers of one table: each step is committed once, and no rows are lost."""

from __future__ import annotations

import multiprocessing
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from deltalake import CommitProperties, DeltaTable, Transaction, write_deltalake
from deltalake.exceptions import CommitFailedError

from pipeline.errors import ConcurrentRunError
from pipeline.lake import Lake
from pipeline.lake.delta_log.conditions import ALL_ROWS, equal
from pipeline.lake.delta_log.model import LakeTable
from pipeline.lake.delta_step import Step
from pipeline.lake.tables import native
from pipeline.lake.tables.native import NativeTables
from pipeline.lake.tables.tables import constant
from tests.support.lake.native_rows import SCHEMA, numbers, rows, version


def _forty_steps(reference: str, ready: Any) -> None:
    table = LakeTable(reference, SCHEMA)
    ready.wait()
    for step in range(40):
        NativeTables(Lake(reference)).append(table, rows(step), Step("a", step))


def test_two_processes_at_the_same_steps_do_each_once(
    tables: NativeTables, table: LakeTable
) -> None:
    spawn = multiprocessing.get_context("spawn")
    ready = spawn.Barrier(2)
    both = [spawn.Process(target=_forty_steps, args=(table.reference, ready)) for _ in range(2)]
    for process in both:
        process.start()
    for process in both:
        process.join(120)
    assert [process.exitcode for process in both] == [0, 0]
    assert numbers(tables, table) == list(range(40))
    assert version(table) == 39


def before_the_first(
    monkeypatch: pytest.MonkeyPatch, name: str, other: Callable[[], object], times: int = 1
) -> list[int]:
    """Let another writer commit just before this one, so many times; count this one's attempts."""
    tried: list[int] = []
    real = getattr(native, name) if hasattr(native, name) else getattr(DeltaTable, name)

    def late(*given: Any, **options: Any) -> None:
        tried.append(len(tried))
        if len(tried) <= times:
            other()
        real(*given, **options)

    owner = native if hasattr(native, name) else DeltaTable
    monkeypatch.setattr(owner, name, late)
    return tried


def append_elsewhere(table: LakeTable, *given: int, step: Step | None = None) -> None:
    steps = [Transaction(step.app, step.version)] if step else None
    properties = CommitProperties(app_transactions=steps)
    write_deltalake(table.reference, rows(*given), mode="append", commit_properties=properties)


@pytest.mark.parametrize("step", [Step("a", 1), None])
def test_a_table_that_another_writer_creates_first_is_appended_to(
    step: Step | None, tables: NativeTables, table: LakeTable, monkeypatch: pytest.MonkeyPatch
) -> None:
    tried = before_the_first(
        monkeypatch, "create_table_with_add_actions", lambda: append_elsewhere(table, 7)
    )
    assert tables.append(table, rows(1), step)
    assert (numbers(tables, table), len(tried)) == ([1, 7], 1)


def test_a_step_that_another_writer_committed_first_is_not_repeated(
    tables: NativeTables, table: LakeTable, monkeypatch: pytest.MonkeyPatch
) -> None:
    tables.append(table, rows(1), Step("a", 1))
    step = Step("a", 2)
    before_the_first(
        monkeypatch, "create_write_transaction", lambda: append_elsewhere(table, 2, step=step)
    )
    assert not tables.append(table, rows(2), step)
    assert numbers(tables, table) == [1, 2]


@pytest.mark.parametrize(
    ("change", "left"),
    [
        (lambda tables, table: tables.delete(table, equal("n", 1), Step("d", 1)), [2, 7]),
        (
            lambda tables, table: tables.update(
                table, equal("n", 1), [constant("n", 5)], Step("d", 1)
            ),
            [2, 5, 7],
        ),
        (lambda tables, table: tables.replace(table, ALL_ROWS, rows(9), Step("d", 1)), [9]),
    ],
)
def test_rows_that_another_writer_adds_meanwhile_are_seen(
    change: Callable[[NativeTables, LakeTable], bool],
    left: list[int],
    tables: NativeTables,
    table: LakeTable,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    tables.append(table, rows(1, 2), Step("a", 1))
    tried = before_the_first(
        monkeypatch, "create_write_transaction", lambda: append_elsewhere(table, 7)
    )
    assert change(tables, table)
    assert len(tried) == 2
    assert numbers(tables, table) == left


def test_a_commit_that_always_conflicts_is_an_error(
    tables: NativeTables, table: LakeTable, monkeypatch: pytest.MonkeyPatch
) -> None:
    tables.append(table, rows(1), Step("a", 1))
    before_the_first(
        monkeypatch, "create_write_transaction", lambda: append_elsewhere(table, 7), times=99
    )
    with pytest.raises(ConcurrentRunError, match=r"\(step 2 of a\) conflicted .* 8 times"):
        tables.append(table, rows(2), Step("a", 2))
    assert len(list(Path(table.reference).glob("*.zstd.parquet"))) == 2  # written once for all


@pytest.mark.parametrize("step", [Step("a", 2), None])
def test_a_commit_whose_reply_is_lost_is_not_repeated(
    step: Step | None, tables: NativeTables, table: LakeTable, monkeypatch: pytest.MonkeyPatch
) -> None:
    tables.append(table, rows(1), Step("a", 1))
    real = DeltaTable.create_write_transaction

    def lost(*given: Any, **options: Any) -> None:
        real(*given, **options)
        raise CommitFailedError("timed out")

    monkeypatch.setattr(DeltaTable, "create_write_transaction", lost)
    assert tables.append(table, rows(2), step)
    assert numbers(tables, table) == [1, 2]
