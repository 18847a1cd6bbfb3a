"""Gold equals a server only if all tables, at least one, were compared and are equal."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from io import StringIO
from pathlib import Path
from typing import cast

import pytest
from pyspark.sql import DataFrame, SparkSession, types as st
from rich.console import Console

from pipeline.gold.table.state import TableState
from pipeline.layer import LayerRun
from pipeline.observe.progress import QuietProgress
from pipeline.schema_history import TableName
from pipeline.settings import Settings
from pipeline.source import GtidSet
from pipeline.verify import against
from pipeline.verify.against import Comparison, NotCompared, compare
from pipeline.verify.canonical import INTEGER
from pipeline.verify.checksums import PublishedTable, SummedTable, TableChecksum, VerifiedSnapshot
from pipeline.verify.gold_table import GoldColumn
from pipeline.verify.report import Verification, show
from pipeline.verify.server_file import ServerFile, ServerTable

NO_SPARK = cast(SparkSession, None)
COLUMNS = (GoldColumn("id", INTEGER),)
LOCKED = "Lock wait timeout exceeded"


class _Frame:
    """A table's DataFrame, of which only the schema is used."""

    schema = st.StructType([st.StructField("id", st.IntegerType())])


def gold_table(name: str, *, dropped: bool = False) -> PublishedTable:
    state = TableState("shop", name, dropped=dropped)
    return PublishedTable(state, 1, cast(DataFrame, _Frame()), COLUMNS)


def summed(table: PublishedTable) -> SummedTable:
    name = table.name
    total = TableChecksum(
        name.schema, name.table, 0, "00", 1, held=False, complete=True, dropped=False
    )
    return SummedTable(total, {})


def server_table(number: int, name: str, changed: str | None) -> ServerTable:
    table = TableName("shop", name)
    return ServerTable(number, table, COLUMNS, (), True, True, 0, "00", 1, {}, changed)


def compared(
    monkeypatch: pytest.MonkeyPatch,
    gold: Sequence[PublishedTable],
    server: Mapping[str, str | None],
    patterns: Sequence[str] = (),
) -> Comparison:
    """Compare empty tables; `server`: each table's error if it could not be read, else None."""
    monkeypatch.setattr(against, "other_position", lambda *_: "")
    tables = [server_table(n, name, why) for n, (name, why) in enumerate(server.items())]
    named = {table.name: table for table in tables}
    nothing = cast(DataFrame, None)
    file = ServerFile(nothing, "9.7", "", "null", tuple(patterns), "", "b.1", 4, named)
    snapshot = VerifiedSnapshot("shop", 5, None, tuple(gold), frozenset(), tuple(patterns))
    settings = Settings(source="shop", lake=str(Path("lake")))
    run = LayerRun.begin(NO_SPARK, settings, QuietProgress())
    return compare(run, snapshot, [summed(table) for table in gold], file)


def shown(found: Comparison) -> str:
    out = StringIO()
    show(Verification("lake", "shop", 5, None, (), found), Console(file=out, width=200))
    return out.getvalue()


def test_equal_tables_that_were_all_compared_are_equal(monkeypatch: pytest.MonkeyPatch) -> None:
    found = compared(monkeypatch, [gold_table("a")], {"a": None}, ["shop.*"])
    assert (found.equal, found.compared, found.not_compared) == (True, 1, ())
    assert "All tables are equal." in shown(found)


@pytest.mark.parametrize(
    ("gold", "server", "patterns", "count", "names"),
    [
        # A table that was locked or altered when it was read, alone and beside another one.
        (["a"], {"a": LOCKED}, [], 0, ["shop.a"]),
        (["a", "b"], {"a": None, "b": LOCKED}, [], 1, ["shop.b"]),
        # Patterns that match nothing, alone and beside another one.
        ([], {}, ["shp.*"], 0, ["shp.*"]),
        (["a"], {"a": None}, ["shop.a", "shop.x*"], 1, ["shop.x*"]),
        # No tables at all.
        ([], {}, [], 0, []),
    ],
)
def test_a_table_that_was_not_compared_is_not_equal(
    monkeypatch: pytest.MonkeyPatch,
    gold: list[str],
    server: dict[str, str | None],
    patterns: list[str],
    count: int,
    names: list[str],
) -> None:
    found = compared(monkeypatch, [gold_table(name) for name in gold], server, patterns)
    assert (found.equal, found.compared, found.differences) == (False, count, ())
    assert [one.name for one in found.not_compared] == names
    text = shown(found)
    assert "All tables are equal." not in text
    assert ("No table was compared." in text) == (count == 0)
    assert all(f"Not compared: {name}" in text for name in names)
    result = Verification("lake", "shop", 5, None, (), found)
    assert not result.equal
    assert all(name in result.to_json() for name in names)


def test_a_table_missing_on_one_side_is_a_difference_and_matches_its_pattern(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    found = compared(monkeypatch, [gold_table("a")], {}, ["shop.a"])
    assert ([one.table for one in found.differences], found.not_compared) == (["a"], ())
    assert not found.equal


def test_a_dropped_table_alone_leaves_nothing_to_compare(monkeypatch: pytest.MonkeyPatch) -> None:
    found = compared(monkeypatch, [gold_table("a", dropped=True)], {}, ["shop.a"])
    assert (found.equal, found.differences) == (False, ())
    reason = "no table to compare matches the pattern."
    assert found.not_compared == (NotCompared("shop.a", reason),)


def test_an_ignored_domain_is_a_note(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(against, "only_replicated", lambda *_: GtidSet.of("7-3-2"))
    found = compared(monkeypatch, [gold_table("a")], {"a": None})
    (note,) = found.notes
    assert ("7-3-2" in note, found.equal) == (True, True)
