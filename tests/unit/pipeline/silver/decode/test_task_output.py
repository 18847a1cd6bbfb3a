"""Decode in tasks and combine their output; without Spark, on recorded logs."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from itertools import chain
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

from decoder import TableDefinition, TypeOptions
from pipeline.lake import Lake
from pipeline.lake.delta_log.model import LakeTable
from pipeline.lake.files.target_writer import Destination, Limits, TargetWriter, Written
from pipeline.silver.carry_out import remove_leftovers
from pipeline.silver.decode.decode import (
    FAULTS,
    LOSSY,
    LOSSY_COUNTS,
    PARTS,
    STAGED_FAULTS,
    STAGED_TRANSACTIONS,
    STATEMENTS,
    TRANSACTIONS,
    Decode,
    table_target,
)
from pipeline.silver.decode.silver_tables import changes_table, statements_table, transactions_table
from pipeline.silver.decode.task_output import SEEN, DecodeAndWrite, lossy_values, rows_of, together
from pipeline.silver.plan.survey import Survey

Segments = Callable[..., Iterator[pa.RecordBatch]]
PLACED = {"source": "shop", "batch": 7}


def everything(_schema: str, _table: str) -> bool:
    return True


def rows(decoded: Written, target: str) -> list[dict[str, Any]]:
    found = [row for table in rows_of(decoded, target) for row in table.to_pylist()]
    return sorted(found, key=lambda row: (row["__lsn"], row.get("__pos", 0), row.get("__row", 0)))


def task_of(folder: Path, survey: Iterator[pa.RecordBatch]) -> DecodeAndWrite:
    """Return a task that decodes all tables that a survey found."""
    lake = Lake(str(folder))
    found = Survey(TypeOptions(), everything)(survey)
    texts = [row["content"] for row in found.to_pylist() if row["kind"] == "definition"]
    definitions = [TableDefinition.from_json(text) for text in dict.fromkeys(texts)]
    places = {
        TRANSACTIONS: Destination(lake.transactions, transactions_table(lake), PLACED),
        STATEMENTS: Destination(lake.statements, statements_table(lake), PLACED),
        FAULTS: Destination(lake.staging, LakeTable(lake.staging, STAGED_FAULTS)),
    }
    for number, definition in enumerate(definitions):
        table = changes_table(lake, definition, 1, TypeOptions())
        places[table_target(number)] = Destination(table.reference, table)
    ids = {definition.fingerprint(): n for n, definition in enumerate(definitions)}
    return DecodeAndWrite(Decode(TypeOptions(), everything, ids), places, f"{folder}/scratch")


@pytest.mark.parametrize("log", ["plain", "statements"])
def test_several_tasks_give_the_output_of_one(segments: Segments, tmp_path: Path, log: str) -> None:
    task = task_of(tmp_path, segments(log))
    logs = [list(segments(log, ordinal=n, parts=2)) for n in (1, 2, 3)]
    apart = together([task(iter(one)) for one in logs], task.destinations)
    whole = together([task(chain.from_iterable(logs))], task.destinations)
    assert apart.counts == whole.counts
    assert apart.counts[TRANSACTIONS] > 3
    targets = [*task.destinations]
    for target in targets:
        assert rows(apart, target) == rows(whole, target)
        assert len(rows(apart, target)) == apart.counts.get(target, 0)
    assert {row["batch"] for row in rows(apart, TRANSACTIONS)} == {7}
    assert not [file for file in tmp_path.rglob("*") if file.is_file()]


SCHEMA = pa.schema([pa.field("__lsn", pa.int64())])


def place(folder: Path, name: str) -> Destination:
    return Destination(f"{folder}/{name}", LakeTable(f"{folder}/{name}", SCHEMA))


def written(folder: Path, values: dict[str, list[int]], limits: Limits) -> Written:
    places = {name: place(folder, name) for name in values}
    with TargetWriter(places, limits, f"{folder}/scratch") as writer:
        for name, numbers in values.items():
            writer.add(name, pa.RecordBatch.from_pydict({"__lsn": numbers}, schema=SCHEMA))
        return writer.finish()


def test_too_many_rows_to_return_become_one_scratch_file_per_task(tmp_path: Path) -> None:
    values = {f"t{n}": list(range(n, n + 10)) for n in range(30)}
    limits = Limits(rest_bytes=10 * 80)
    tasks = [written(tmp_path, values, limits) for _ in range(4)]
    assert {(len(task.rest), len(task.places)) for task in tasks} == {(10, 20)}
    assert len(os.listdir(tmp_path / "scratch")) == 4
    decoded = together(tasks, {name: place(tmp_path, name) for name in values})
    for name, numbers in values.items():
        assert name not in decoded.files
        assert [row["__lsn"] for row in rows(decoded, name)] == sorted(numbers * 4)


def test_a_thousand_tables_of_many_tasks_get_one_file_each(tmp_path: Path) -> None:
    """Even if the driver may hold almost none of their rows."""
    values = {f"t{n}": [n] * 8 for n in range(1000)}
    places = {name: place(tmp_path, name) for name in values}
    tasks = (written(tmp_path, values, Limits(rest_bytes=0)) for _ in range(5))
    decoded = together(tasks, places, Limits(rest_bytes=0, open_bytes=100_000))
    assert all(len(decoded.files[name]) == 1 for name in values)
    assert {decoded.files[name][0].rows for name in values} == {40}
    assert len(list(tmp_path.rglob("*.parquet"))) == 1000


def test_parts_of_a_transaction_in_several_tasks_are_one_row(tmp_path: Path) -> None:
    lake = Lake(str(tmp_path))
    places = {TRANSACTIONS: Destination(lake.transactions, transactions_table(lake), PLACED)}
    part = {
        **dict.fromkeys(STAGED_TRANSACTIONS.names),
        "__lsn": 5,
        "file": "binlog.000001",
        "rows": [("shop.t", 2)],
        "bytes": 10,
    }
    tasks = []
    for known in ({"start_pos": 400, "end_pos": 900, "commit_lsn": 5}, {"start_pos": 100}):
        batch = pa.RecordBatch.from_pylist([part | known], schema=STAGED_TRANSACTIONS)
        with TargetWriter(places) as writer:
            writer.add(PARTS, batch)
            tasks.append(writer.finish())
    (found,) = rows(together(tasks, places), TRANSACTIONS)
    assert (found["start_pos"], found["end_pos"], found["bytes"]) == (100, 900, 20)
    assert (found["source"], found["batch"], found["rows"]) == ("shop", 7, [("shop.t", 4)])


def test_lossy_values_are_summed_over_tasks() -> None:
    tasks = []
    for values in (2, 3):
        counts = [{"table": "s.t", "column": "day", "values": values}]
        batch = pa.RecordBatch.from_pylist(counts * 2, schema=LOSSY_COUNTS)
        with TargetWriter({}) as writer:
            writer.add(LOSSY, batch)
            tasks.append(writer.finish())
    decoded = together(tasks, {})
    assert lossy_values(decoded) == {"s.t": {"day": 10}}
    assert lossy_values(together([], {})) == {}


def test_transactions_that_the_lake_already_had_are_counted(
    segments: Segments, tmp_path: Path
) -> None:
    task = task_of(tmp_path, segments("plain"))
    first = together([task(segments("plain"))], task.destinations)
    assert SEEN not in first.counts
    gtids = [row["gtid"] for row in rows(first, TRANSACTIONS) if row["gtid"]]
    seen = Decode(TypeOptions(), everything, task.decode.table_ids, seen={(1, 0): gtids[-1]})
    again = DecodeAndWrite(seen, task.destinations, task.scratch)
    found = together([again(segments("plain"))], task.destinations)
    assert found.counts[SEEN] == 1
    assert [row["gtid"] for row in rows(found, TRANSACTIONS) if row["seen_before"]] == gtids[-1:]


def test_leftovers_of_dead_runs_of_finished_batches_are_removed(tmp_path: Path) -> None:
    lake = Lake(str(tmp_path))
    names = ("a/3-dead", "a/4-runs", "a/verify-1", "b/3-other")
    for name in names:
        (Path(lake.staging) / name / "x").mkdir(parents=True)
    remove_leftovers(lake, "a", 3)
    remove_leftovers(lake, "c", 3)
    assert {name for name in names if (Path(lake.staging) / name).exists()} == {*names[1:]}
