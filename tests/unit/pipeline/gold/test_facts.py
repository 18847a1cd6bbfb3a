"""What transactions tell about a stretch of the log."""

from __future__ import annotations

from datetime import datetime, timezone
from typing import Any

import pytest
from pyspark.sql import SparkSession

from pipeline.catalog.effects import TableName
from pipeline.gold.changes import Skipped
from pipeline.gold.facts import Facts, facts, intervals, with_all_columns

UUID = "3e11fa47-71ca-11e1-9e33-c80aa9429562"
SCHEMA = (
    "__lsn bigint, file string, start_pos bigint, gtid string, committed_at timestamp,"
    " rows map<string, bigint>, bytes bigint, commit_lsn bigint,"
    " rolled_back array<struct<start: bigint, end: bigint>>,"
    " rolled_back_rows array<struct<start: bigint, end: bigint>>, xa string, xa_end string,"
    " cascades string"
)


def transaction(lsn: int, gtid: str | None = None, **values: Any) -> tuple[Any, ...]:
    at = datetime.fromtimestamp(lsn, timezone.utc)
    made = {
        "file": "binlog.000001",
        "start_pos": lsn,
        "gtid": gtid,
        "committed_at": at,
        "rows": None,
        "bytes": 100,
        "commit_lsn": lsn,
        "rolled_back": None,
        "rolled_back_rows": None,
        "xa": None,
        "xa_end": None,
        "cascades": "logged",
        **values,
    }
    return (lsn, *made.values())


def look(spark: SparkSession, rows: list[tuple[Any, ...]]) -> Facts:
    return facts(spark.createDataFrame(rows, SCHEMA), 0, 10_000_000)


def test_many_gtids_become_intervals_whatever_their_order(spark: SparkSession) -> None:
    numbers = [*range(1, 40_001), *range(65_530, 65_550), 70_000]
    rows = [transaction(n, f"{UUID}:{n}") for n in reversed(numbers)]
    rows += [transaction(80_000, f"{UUID}:tag:5"), transaction(80_001, None)]
    found = look(spark, rows)
    joined: dict[str, list[int]] = {}
    for sid, first, last in found.gtids:
        joined.setdefault(sid, []).extend(range(first, last + 1))
    assert {sid: sorted(n) for sid, n in joined.items()} == {UUID: numbers, f"{UUID}:tag": [5]}
    assert found.server_ends == ()
    assert (found.last_lsn, found.committed_at) == (80_001, 80_001 * 1_000_000)


def test_a_domain_tells_the_last_gtid_of_each_server(spark: SparkSession) -> None:
    gtids = ("7-1-1", "0-1-7", "0-1-8", "0-2-9")
    rows = [transaction(number, gtid) for number, gtid in enumerate(gtids, 1)]
    assert sorted(look(spark, rows).server_ends) == ["0-1-8", "0-2-9", "7-1-1"]


def test_tables_that_changed_are_those_behind_the_cut_before(spark: SparkSession) -> None:
    """A table that is held has facts reach back: others have come over these already."""
    rows = [transaction(n, rows={name: 1}) for n, name in enumerate(("s.a", "s.b", "s.c"), 1)]
    found = facts(spark.createDataFrame(rows, SCHEMA), 0, 10, cut_before=2)
    assert (found.changed, found.changes) == ({"s.c"}, 3)


def test_tables_rollbacks_and_what_is_not_decided(spark: SparkSession) -> None:
    rows = [
        transaction(1, rows={"s.a": 1, "s.b": 2}),
        transaction(2, rows={"s.a": 1}, rolled_back=[(10, 20), (30, 40)], cascades=None),
        transaction(5, rolled_back_rows=[(2, 5)]),
        transaction(3, rows={"s.c": 1}, commit_lsn=None),
        transaction(4, rows={"s.d": 1}, commit_lsn=None),
        transaction(4, rows={"s.d": 1}, commit_lsn=6),
    ]
    found = look(spark, rows)
    assert found.changed == {"s.a", "s.b", "s.c", "s.d"}
    assert sorted(found.skipped, key=str) == [
        Skipped(2, 10, 20),
        Skipped(2, 30, 40),
        Skipped(5, 2, 5, inside=True),
    ]
    (fault,) = found.undecided
    assert (fault.lsn, fault.tables) == (3, (TableName("s", "c"),))
    assert "binlog.000001, position 3" in fault.sentence
    assert (found.changes, found.bytes) == (7, 600)
    assert found.unlogged == {"s.a"}


def test_tables_where_foreign_keys_may_have_done_what_is_not_logged(spark: SparkSession) -> None:
    rows = [
        transaction(1, rows={"s.a": 1}, cascades="logged"),
        transaction(2, rows={"s.b": 1}, cascades="unlogged"),
        transaction(3, rows={"s.c": 1}, cascades="mixed"),
        transaction(4, rows={"s.d": 1}, xa="x", xa_end="prepare", cascades="logged"),
    ]
    assert look(spark, rows).unlogged == {"s.b", "s.c", "s.d"}
    older = spark.createDataFrame(rows, SCHEMA).drop("cascades", "rolled_back_rows")
    assert facts(with_all_columns(older), 0, 10).unlogged == {"s.a", "s.b", "s.c", "s.d"}


def test_no_transactions_tell_nothing(spark: SparkSession) -> None:
    assert look(spark, []) == Facts(0, 10_000_000)


@pytest.mark.parametrize(
    ("bucket", "bits", "runs"),
    [
        (1, [0], [(1, 1)]),
        (1, [0, 1, 2, 9, 10], [(1, 3), (10, 11)]),
        (3, [32767], [(98304, 98304)]),
        (1, range(32768), [(1, 32768)]),
        (1, [], []),
    ],
)
def test_a_bitmap_is_read_as_runs(bucket: int, bits: Any, runs: list[tuple[int, int]]) -> None:
    bitmap = bytearray(4096)
    for bit in bits:
        bitmap[bit >> 3] |= 1 << (bit & 7)
    assert intervals(bucket, bytes(bitmap)) == runs
