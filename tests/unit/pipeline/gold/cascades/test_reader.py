"""Reads about foreign keys are cached, however often a plan is made."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import replace
from typing import Any, cast

import pytest
from pyspark.errors import AnalysisException
from pyspark.sql import DataFrame, SparkSession

from pipeline.errors import ConcurrentRunError
from pipeline.gold.cascades import reader as cascade_reader
from pipeline.gold.cascades.links import Link
from pipeline.gold.cascades.reader import DamagedTableError, Reader
from pipeline.gold.cascades.replay import RowChange
from pipeline.gold.cascades.rows import ChangeRequest, TooManyRowsError
from pipeline.gold.changes.faults import Resolved
from pipeline.gold.changes.log_facts import Facts
from pipeline.gold.changes.xa import Prepared
from pipeline.schema_history import TableName
from pipeline.settings import Settings

PARENT = TableName("shop", "parent")
WISH = ChangeRequest(PARENT, ("id",), 10, 20)


def event(lsn: int) -> RowChange:
    return RowChange((lsn, 0, 0), PARENT, {"id": lsn}, None, unlogged=False)


@pytest.fixture
def reader() -> Reader:
    """Return a reader without Spark."""
    settings = Settings(source="made", lake="nowhere", parallel_tables=2)
    return Reader(cast(SparkSession, None), settings, {}, Facts(0, 40), {})


@pytest.mark.parametrize(
    ("asked", "looks"),
    [
        (WISH, 1),
        (replace(WISH, low=12, high=15), 1),
        (replace(WISH, high=21), 2),
        (replace(WISH, low=9), 2),
        (replace(WISH, columns=("id", "v")), 2),
        (replace(WISH, all_changes=True), 2),
        (replace(WISH, name=TableName("shop", "other")), 2),
    ],
    ids=["the same", "less", "later", "earlier", "other columns", "other changes", "other table"],
)
def test_a_plan_that_ends_earlier_does_not_read_changes_again(
    reader: Reader, monkeypatch: pytest.MonkeyPatch, asked: ChangeRequest, looks: int
) -> None:
    made: list[ChangeRequest] = []

    def events(
        _spark: object, _lake: object, request: ChangeRequest, *_: object
    ) -> list[RowChange]:
        made.append(request)
        return [event(lsn) for lsn in range(request.low + 1, request.high + 1)]

    monkeypatch.setattr(cascade_reader, "events", events)
    reader.events([WISH])
    found = [one.place[0] for one in reader.events([asked])]
    assert found == list(range(asked.low + 1, asked.high + 1))
    assert len(made) == looks


def test_only_new_transactions_are_checked_for_logged_cascades(
    reader: Reader, monkeypatch: pytest.MonkeyPatch
) -> None:
    made: list[set[int]] = []

    def logged(_spark: object, _lake: object, _source: str, lsns: Collection[int], _: Any) -> int:
        made.append({*lsns})
        return len(made)

    monkeypatch.setattr(cascade_reader, "LoggedCascades", logged)
    found = [cast(int, reader.logged(lsns)) for lsns in ({1, 2, 3}, {2, 3}, {3, 4})]
    assert found == [1, 1, 2]
    assert made == [{1, 2, 3}, {3, 4}]


NAMED, OF_ANY = Resolved(7, frozenset(("shop.taken_up",))), Resolved(8, None)


@pytest.mark.parametrize(
    ("late", "parents", "lsns"),
    [
        ((), ["unlogged"], ()),
        ((NAMED,), ["taken_up", "unlogged"], (7,)),
        ((NAMED, OF_ANY), ["other", "taken_up", "unlogged"], (7, 8)),
    ],
    ids=["nothing", "one table", "any table"],
)
def test_rows_decoded_late_count_as_not_logged(
    monkeypatch: pytest.MonkeyPatch,
    late: tuple[Resolved, ...],
    parents: list[str],
    lsns: tuple[int, ...],
) -> None:
    asked: list[tuple[int, int]] = []

    def resolved_faults(_spark: object, _lake: object, _source: str, low: int, high: int) -> Any:
        asked.append((low, high))
        return late

    def unlogged(_reader: Reader, names: Collection[str], found: Collection[int]) -> Any:
        return [*sorted(names), *sorted(found)]

    monkeypatch.setattr(cascade_reader, "resolved_faults", resolved_faults)
    monkeypatch.setattr(Reader, "_unlogged", unlogged)
    settings = Settings(source="made", lake="nowhere")
    facts = Facts(5, 40, prepared=(Prepared(4, 9),), unlogged=frozenset(("shop.unlogged",)))
    reader = Reader(cast(SparkSession, None), settings, {}, facts, {})
    names = [TableName("shop", table) for table in ("other", "taken_up", "unlogged")]
    assert [name.table for name in filter(reader.not_all_logged, names)] == parents
    assert reader.unlogged(["shop.taken_up"], [5]) == ["shop.taken_up", 5, *lsns]
    assert reader.unlogged(["shop.other"], []) == ["shop.other", *lsns[1:]]
    assert reader.all_unlogged() == ["shop.unlogged", *lsns]
    assert asked == [(3, 40)]


@pytest.mark.parametrize(
    ("unlogged", "late", "logged"),
    [((), (), True), (("shop.unlogged",), (), False), ((), (NAMED,), False)],
)
def test_all_is_logged_unless_stated_otherwise(
    monkeypatch: pytest.MonkeyPatch,
    unlogged: tuple[str, ...],
    late: tuple[Resolved, ...],
    *,
    logged: bool,
) -> None:
    monkeypatch.setattr(cascade_reader, "resolved_faults", lambda *_: late)
    settings = Settings(source="made", lake="nowhere")
    facts = Facts(3, 40, unlogged=frozenset(unlogged))
    assert Reader(cast(SparkSession, None), settings, {}, facts, {}).all_logged() is logged


CHILD = TableName("shop", "child")
LINK = Link(CHILD, ("parent_id",), PARENT, ("id",), on_delete="CASCADE")


@pytest.mark.parametrize(
    ("error", "raised"),
    [
        (AnalysisException("[DELTA_VERSIONS_NOT_CONTIGUOUS] a gap"), DamagedTableError),
        (TooManyRowsError(CHILD), TooManyRowsError),
        (ConcurrentRunError("another run came first."), ConcurrentRunError),
        (OSError(28, "No space left on device"), OSError),
    ],
    ids=["of the table", "too many rows", "another run", "a full disk"],
)
def test_a_damaged_child_table_does_not_fail_the_run(
    monkeypatch: pytest.MonkeyPatch, error: Exception, raised: type[Exception]
) -> None:
    def gold(*_: object, **__: object) -> DataFrame:
        raise error

    monkeypatch.setattr("pipeline.lake.delta.read", gold)
    settings = Settings(source="made", lake="nowhere")
    reader = Reader(cast(SparkSession, None), settings, {}, Facts(0, 40), {CHILD: 3})
    for look in (
        lambda: reader.referring(LINK, [(1,)], ["id"]),
        lambda: reader.keyed(CHILD, ["id"], [(1,)], ["id"]),
    ):
        with pytest.raises(raised) as met:
            look()
        if isinstance(met.value, DamagedTableError):
            assert met.value.name == CHILD
            assert "nowhere/gold/shop/child cannot be read" in met.value.damage.reason
