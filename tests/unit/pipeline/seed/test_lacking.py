"""When `binlake seed` has nothing to do, by what gold's last batch and the server tell."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, cast

import pytest

from pipeline.catalog.effects import TableName
from pipeline.gold.state import GoldState, TableState
from pipeline.lake import Lake
from pipeline.lake_tables.opening import native_tables
from pipeline.lake_tables.tables import Tables
from pipeline.ledger import Ledger
from pipeline.seed import lacking
from pipeline.seed.lacking import lacks_nothing, standing_still
from pipeline.server.errors import ServerUnreachableError
from pipeline.settings import Settings
from tests.support.memory_ledger import MemoryTables

ITEM, BAG = TableName("shop", "item"), TableName("shop", "bag")


def state(*tables: TableState, **told: Any) -> GoldState:
    return GoldState(tables={table.name: table for table in tables}, **told)


def table(name: TableName = ITEM, *, complete: bool = True, **told: Any) -> TableState:
    return TableState(name.schema, name.table, complete=complete, **told)


class Told:
    """What the ledger and the server tell, in the place of these."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch, gold: GoldState, *names: TableName) -> None:
        self.body = gold.to_body()

        @contextmanager
        def server(settings: Settings) -> Iterator[Any]:
            yield self

        monkeypatch.setattr(lacking, "native_tables", self.tables)
        monkeypatch.setattr(lacking, "source_server", server)
        monkeypatch.setattr(lacking, "user_tables", lambda *_: [(n.schema, n.table) for n in names])
        monkeypatch.delenv("PYSPARK_GATEWAY_PORT", raising=False)
        self.connection = None

    def tables(self, lake: Lake) -> MemoryTables:
        tables = MemoryTables(lake)
        ledger = Ledger.of(cast(Tables, tables), "live")
        ledger.finish(ledger.propose("gold", self.body), {})
        return tables


@pytest.fixture
def settings(tmp_path: Path) -> Settings:
    return Settings(source="live", lake=str(tmp_path), include=["shop.*"])


@pytest.mark.parametrize(
    ("gold", "names", "expected"),
    [
        (state(table()), (ITEM,), True),
        (state(table(), table(BAG)), (ITEM,), True),
        (state(table()), (ITEM, BAG), False),
        (state(table(complete=False)), (ITEM,), False),
        # it was in full once, and goes no further
        (state(table(held="a statement")), (ITEM,), False),
        (state(table(), cut_held="a gap"), (ITEM,), False),
        # an account that is not shown a table, or any
        (state(table(), table(BAG, complete=False)), (ITEM,), False),
        (state(table(), table(BAG, complete=False, dropped=True)), (ITEM,), True),
        (state(table(), table(TableName("other", "t"), complete=False)), (ITEM,), True),
        (state(table()), (), False),
        (state(), (), False),
    ],
)
def test_nothing_is_lacking_where_gold_has_all_in_full_and_goes_on_with_it(
    settings: Settings,
    monkeypatch: pytest.MonkeyPatch,
    gold: GoldState,
    names: tuple[TableName, ...],
    expected: bool,
) -> None:
    Told(monkeypatch, gold, *names)
    assert lacks_nothing(settings) is expected


def test_what_is_named_and_what_has_spark_already_is_looked_at(
    settings: Settings, monkeypatch: pytest.MonkeyPatch
) -> None:
    Told(monkeypatch, state(table()), ITEM)
    assert lacks_nothing(settings)
    assert not lacks_nothing(settings.with_section("seed", tables=["shop.item"]))
    assert not lacks_nothing(settings.with_section("seed", dump="dump.sql"))
    monkeypatch.setenv("PYSPARK_GATEWAY_PORT", "4040")
    assert not lacks_nothing(settings)


@pytest.mark.parametrize("damage", ["tables", "cut_lsn", "silver_batch"])
def test_a_state_that_is_not_understood_is_looked_at(
    settings: Settings, monkeypatch: pytest.MonkeyPatch, damage: str
) -> None:
    told = Told(monkeypatch, state(table()), ITEM)
    del told.body[damage]
    assert not lacks_nothing(settings)


def test_of_a_later_release_is_looked_at(
    settings: Settings, monkeypatch: pytest.MonkeyPatch
) -> None:
    told = Told(monkeypatch, state(table()), ITEM)
    told.body["tables"][0]["moon"] = "full"
    assert not lacks_nothing(settings)


def test_a_server_that_does_not_answer_is_the_runs_to_tell(
    settings: Settings, monkeypatch: pytest.MonkeyPatch
) -> None:
    Told(monkeypatch, state(table()), ITEM)

    def silent(settings: Settings) -> None:
        raise ServerUnreachableError("it does not answer", address="db", user="u", remedy="")

    monkeypatch.setattr(lacking, "source_server", silent)
    assert not lacks_nothing(settings)


def test_a_table_that_stands_still_is_named_with_the_way_on() -> None:
    gold = state(table(held="a statement in the log"), table(BAG))
    (told,) = standing_still(gold, [ITEM, BAG])
    assert told.startswith("shop.item stands still")
    assert "--table" in told
    assert "a statement in the log" in told


def test_a_lake_that_is_not_there_or_is_damaged_is_looked_at(
    settings: Settings, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("PYSPARK_GATEWAY_PORT", raising=False)
    assert not lacks_nothing(settings)
    tables = native_tables(settings.layout)
    assert tables is not None
    ledger = Ledger.of(tables, "live")
    ledger.finish(ledger.propose("gold", state(table()).to_body()), {})
    Path(f"{ledger.path}/_delta_log/{0:020d}.json").write_text("{no json")
    assert not lacks_nothing(settings)
