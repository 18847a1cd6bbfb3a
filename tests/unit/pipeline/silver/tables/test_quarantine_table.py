"""Faults in the quarantine: appended, reported, resolved; on a lake, without Spark."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pyarrow as pa
import pytest

from decoder.transactions.faults import STATEMENT_DML
from pipeline.lake import Lake
from pipeline.lake.delta_step import Step
from pipeline.lake.tables.native import NativeTables
from pipeline.layer import LayerRun
from pipeline.observe.progress import QuietProgress
from pipeline.schema_history.alter.items import TimelineItem
from pipeline.settings import Settings
from pipeline.silver.decode.decode import STAGED_FAULTS
from pipeline.silver.decode.silver_tables import quarantine_table, statements_table
from pipeline.silver.plan.batch_plan import Retried
from pipeline.silver.tables import quarantine
from pipeline.silver.tables.quarantine import (
    DEFINITION,
    GIVEN_UP,
    ReadFaults,
    append_faults,
    resolve,
    retryable,
    still_faulty,
    supersede,
    unresolved,
)

SPARK: Any = None
SOURCE = "shop"


@pytest.fixture
def lake(tmp_path: Any, monkeypatch: pytest.MonkeyPatch) -> Lake:
    items: list[TimelineItem] = []
    monkeypatch.setattr(quarantine, "tables_of", lambda _, lake: NativeTables(lake))
    monkeypatch.setattr(quarantine, "read_items", lambda *_: items)
    return Lake(str(tmp_path))


def run_of(lake: Lake, **options: Any) -> LayerRun:
    return LayerRun.begin(
        SPARK, Settings(source=SOURCE, lake=lake.root, **options), QuietProgress()
    )


def fault(
    lsn: int | None, tables: list[str] | None, kind: str = "undecodable", start: int = 0
) -> dict[str, Any]:
    return {
        "__lsn": lsn,
        "__pos": lsn or 4,
        "file": "binlog.000001",
        "kind": kind,
        "tables": tables,
        "reason": f"reason {lsn}",
        "content": b"bytes",
        "ordinal": 1,
        "start_pos": start,
    }


def staged(*faults: dict[str, Any]) -> ReadFaults:
    """Return faults in several tables, as tasks return them."""
    return lambda: [pa.Table.from_pylist([one], schema=STAGED_FAULTS) for one in faults]


def append(lake: Lake, batch: int, *faults: dict[str, Any], **options: Any) -> list[str]:
    return append_faults(run_of(lake), batch, staged(*faults), (), **options)


def rows(lake: Lake) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = NativeTables(lake).read(quarantine_table(lake)).to_pylist()
    return sorted(found, key=lambda row: (row["batch"], row["__pos"]))


def resolved(lake: Lake) -> list[tuple[int, int | None]]:
    return [(row["__lsn"], row["resolved_batch"]) for row in rows(lake)]


def test_a_batch_without_faults_creates_no_table(lake: Lake) -> None:
    assert append(lake, 1) == []
    assert not NativeTables(lake).exists(quarantine_table(lake))
    assert len(unresolved(SPARK, lake, SOURCE)) == 0
    assert retryable(SPARK, lake, SOURCE) == ()
    supersede(run_of(lake), 1, {"shop.t": 5})
    assert not NativeTables(lake).exists(quarantine_table(lake))


def test_faults_are_appended_once_and_reported(lake: Lake) -> None:
    planned = [{**fault(9, ["shop.u"], DEFINITION), "content": "ALTER TABLE u"}]
    del planned[0]["ordinal"], planned[0]["start_pos"]
    for _ in range(2):
        messages = append_faults(
            run_of(lake), 3, staged(fault(5, ["shop.t"]), fault(7, None)), planned
        )
        assert len(messages) == 3
        assert "shop.u" in messages[0]
        assert (
            "Affected tables (held just before this position, unless on_fault is mark): all."
            in messages[2]
        )
    assert [(row["source"], row["batch"], row["__lsn"]) for row in rows(lake)] == [
        (SOURCE, 3, 5), (SOURCE, 3, 7), (SOURCE, 3, 9),
    ]  # fmt: skip
    assert rows(lake)[2]["content"] == b"ALTER TABLE u"


def test_a_repeated_fault_is_not_reported_twice(lake: Lake) -> None:
    append(lake, 1, fault(5, ["shop.t"]), fault(None, None))
    append(lake, 2, fault(5, ["shop.t"]), fault(None, None), fault(6, ["shop.t"]), again=True)
    assert [(row["batch"], row["__lsn"]) for row in rows(lake)] == [(1, None), (1, 5), (2, 6)]


def test_many_faults_are_summarized_in_one_sentence(lake: Lake) -> None:
    messages = append(lake, 1, *(fault(n, ["shop.t", "shop.u"]) for n in range(1, 31)))
    assert len(messages) == quarantine.SHOWN + 1
    assert messages[-1].startswith("10 more faults are in ")


def statement(lake: Lake, query: str) -> None:
    table = statements_table(lake)
    row = {**dict.fromkeys(table.schema.names), "source": SOURCE, "schema": "shop", "query": query}
    tables = NativeTables(lake)
    tables.append(table, pa.Table.from_pylist([row], schema=table.schema), Step(query, 1))


@pytest.mark.parametrize(
    ("options", "held"),
    [({}, [["shop.parent", "shop.child"]]), ({"exclude": ["shop.parent"]}, [["shop.child"]])],
)
def test_a_statement_holds_the_tables_it_changes_indirectly(
    lake: Lake, monkeypatch: pytest.MonkeyPatch, options: Any, held: list[list[str]]
) -> None:
    statement(lake, "INSERT INTO t VALUES (1)")
    statement(
        lake,
        "CREATE TABLE child (id INT, FOREIGN KEY (id) REFERENCES parent (id) ON DELETE CASCADE)",
    )
    child = TimelineItem(1, 1, "shop", "child", "create")
    monkeypatch.setattr(quarantine, "read_items", lambda *_: [child])
    found = staged(fault(5, ["shop.parent"], STATEMENT_DML))
    append_faults(run_of(lake, **options), 1, found, ())
    assert [row["tables"] for row in rows(lake)] == held


def test_segments_with_retryable_faults_are_retried(lake: Lake) -> None:
    append(
        lake,
        1,
        fault(5, ["shop.t"]),
        fault(6, ["shop.t"], "unsupported"),
        fault(7, ["shop.t"], start=100),
        fault(8, ["shop.t"], STATEMENT_DML, start=200),
        fault(None, None, start=300),
    )
    held = retryable(SPARK, lake, SOURCE)
    assert held == (Retried(1, 0, (5, 6)), Retried(1, 100, (7,)))
    remaining = still_faulty(staged(fault(6, ["shop.t"])), run_of(lake).settings.wanted)
    assert remaining == {(1, 0, 6)}
    for batch in (2, 2):
        resolve(run_of(lake), batch, held, remaining)
    assert resolved(lake) == [(None, None), (5, 2), (6, None), (7, 2), (8, None)]
    assert retryable(SPARK, lake, SOURCE) == (Retried(1, 0, (6,)),)


@pytest.mark.parametrize(
    ("seeds", "superseded"),
    [({}, []), ({"shop.t": 5}, [5]), ({"shop.t": 9, "shop.u": 4}, [5, 7])],
    ids=["none", "up to its place", "of other tables"],
)
def test_a_seed_supersedes_faults_of_definitions(
    lake: Lake, seeds: dict[str, int], superseded: Sequence[int]
) -> None:
    append(
        lake,
        1,
        *(fault(lsn, ["shop.t"], DEFINITION) for lsn in (5, 7)),
        fault(3, ["shop.t", "shop.u"], DEFINITION),
        fault(4, ["shop.t"]),
        fault(6, ["shop.u"], DEFINITION),
    )
    supersede(run_of(lake), 2, seeds)
    assert [lsn for lsn, batch in resolved(lake) if batch == 2] == list(superseded)


def test_faults_of_a_table_without_names_are_reported_again(lake: Lake) -> None:
    append(lake, 1, fault(5, ["shop.t"], DEFINITION), fault(6, ["shop.u"], DEFINITION))
    append(lake, 2, fault(7, ["shop.t"], DEFINITION))
    resolve(run_of(lake), 2, (), set(), ["shop.t"])
    assert resolved(lake) == [(5, 2), (6, None), (7, None)]


def test_an_accepted_gap_is_not_a_fault_of_a_batch(lake: Lake) -> None:
    assert append(lake, 1, fault(5, None, GIVEN_UP)) == []
    assert len(unresolved(SPARK, lake, SOURCE)) == 1
