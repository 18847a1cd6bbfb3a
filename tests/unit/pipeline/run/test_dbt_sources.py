"""The dbt sources file: stable text, keys as tests, names of any characters."""

from __future__ import annotations

from dataclasses import replace
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest
import yaml

from pipeline.errors import SettingsError
from pipeline.gold.snapshot.description import DescribedColumn, DescribedTable
from pipeline.gold.table.names import COMMITTED_AT, LSN
from pipeline.run.dbt_sources import HEADER, Freshness, dbt_sources, write_sources
from pipeline.schema_history import TableName

DAY = Freshness(timedelta(days=1), None)
OWN = (DescribedColumn(LSN, "bigint", False), DescribedColumn(COMMITTED_AT, "timestamp", False))
ID = DescribedColumn("id", "int", True)
NOTE = DescribedColumn("note", "string", False)
NAME, PATH = TableName("shop", "orders"), "/lake/gold/shop/orders"
ORDERS = DescribedTable(NAME, PATH, (ID, NOTE, *OWN), ("id",), None, True, False)


def sources(*tables: DescribedTable, freshness: Freshness = DAY) -> list[dict[str, Any]]:
    document = yaml.safe_load(dbt_sources("shop", tables, freshness))
    assert document["version"] == 2
    found: list[dict[str, Any]] = document["sources"]
    return found


def table(**changes: Any) -> dict[str, Any]:
    """Return the entry of ORDERS with changes."""
    ((entry,),) = (one["tables"] for one in sources(replace(ORDERS, **changes)))
    found: dict[str, Any] = entry
    return found


def test_a_table_has_its_columns_key_path_and_freshness() -> None:
    (source,) = sources(ORDERS)
    assert (source["name"], source["config"]["loaded_at_field"]) == ("shop", COMMITTED_AT)
    assert source["config"]["freshness"] == {"warn_after": {"count": 1, "period": "day"}}
    (orders,) = source["tables"]
    meta = orders["config"]["meta"]
    assert meta == {
        "path": "/lake/gold/shop/orders",
        "complete": True,
        "held": False,
        "external_location": "delta_scan('/lake/gold/shop/orders')",
    }
    identity, note, lsn, committed_at = orders["columns"]
    tests = ["not_null", "unique"]
    assert identity == {"name": "id", "data_type": "int", "quote": True, "data_tests": tests}
    assert note == {"name": "note", "data_type": "string"}
    assert all(column["description"] for column in (lsn, committed_at))


def test_the_same_tables_give_the_same_text_without_anchors() -> None:
    other = replace(ORDERS, name=TableName("shop", "items"))
    text = dbt_sources("shop", [other, ORDERS], DAY)
    assert text == dbt_sources("shop", [other, ORDERS], DAY)
    assert text.startswith(HEADER)
    assert "&id" not in text


@pytest.mark.parametrize(
    ("key", "together"),
    [
        (("id", "note"), '("id", "note")'),
        (("id",), None),
        ((), None),
    ],
)
def test_keys_become_tests(key: tuple[str, ...], together: str | None) -> None:
    found = table(key=key)
    tests = {column["name"]: column.get("data_tests") for column in found["columns"]}
    assert tests["id"] == (["not_null", *(["unique"] * (len(key) == 1))] if key else None)
    assert tests["note"] is None  # it may be NULL
    if together is None:
        assert "data_tests" not in found
    else:
        ((test,),) = [test.values() for test in found["data_tests"]]
        assert test["arguments"] == {"column_name": together}
    assert ("It has no key." in found["description"]) == (not key)


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"held": "it is damaged"}, "It is held"),
        ({"complete": False}, "It is incomplete"),
        ({"complete": False, "dropped": True}, "The source has dropped it."),
    ],
)
def test_what_is_not_equal_to_the_source_is_described(changes: dict[str, Any], words: str) -> None:
    found = table(**changes)
    assert words in found["description"]
    assert ("freshness" in found["config"]) == changes.get("dropped", False)
    assert found["config"]["meta"]["held"] == ("held" in changes)


@pytest.mark.parametrize(
    ("reference", "location"),
    [
        ("s3a://bucket/lake/gold/shop/orders", "delta_scan('s3://bucket/lake/gold/shop/orders')"),
        ("/it's/gold", "delta_scan('/it''s/gold')"),
        ("/{x}/gold", "{% raw %}delta_scan('/{{x}}/gold'){% endraw %}"),
        ("`main`.`shop`.`orders`", None),
    ],
)
def test_duckdb_finds_paths_and_no_names_of_a_catalog(reference: str, location: str | None) -> None:
    (source,) = sources(replace(ORDERS, reference=reference))
    assert source["tables"][0]["config"]["meta"].get("external_location") == location
    named = {"database": source.get("database"), "schema": source.get("schema")}
    expected = ("main", "shop") if location is None else (None, None)
    assert tuple(named.values()) == expected


def test_sparks_own_catalog_is_not_named() -> None:
    (source,) = sources(replace(ORDERS, reference="`spark_catalog`.`shop`.`orders`"))
    assert (source.get("database"), source["schema"]) == (None, "shop")


def test_a_composite_key_is_quoted_for_who_reads_the_table() -> None:
    odd = 'Line "no."`'
    columns = (ID, DescribedColumn(odd, "int", True), *OWN)
    for reference, expected in (
        (PATH, '("id", "Line ""no.""`")'),
        ("`main`.`shop`.`orders`", '(`id`, `Line "no."```)'),
    ):
        found = table(reference=reference, columns=columns, key=("id", odd))
        assert found["data_tests"][0]["unique"]["arguments"]["column_name"] == expected


def test_names_that_dbt_does_not_take_get_another_and_their_own_as_identifier() -> None:
    name = TableName("web shop", "order-lines")
    (source,) = sources(replace(ORDERS, name=name))
    (found,) = source["tables"]
    assert (source["schema"], found["identifier"]) == ("web shop", "order-lines")
    assert found["quoting"] == {"identifier": True}
    assert all(one.isidentifier() for one in (source["name"], found["name"]))
    odd = table(columns=(ID, DescribedColumn("Größe in cm", "int", False), *OWN))
    assert odd["columns"][1]["quote"] is True


def test_a_name_is_never_a_template() -> None:
    evil = "{{ env_var('SECRET') }}"
    columns = (ID, DescribedColumn(evil, "int", True), *OWN)
    text = dbt_sources("shop", [replace(ORDERS, columns=columns, key=(evil,))], DAY)
    assert "env_var" not in text
    named = replace(ORDERS, name=TableName(evil, evil))
    (source,) = sources(named)
    (found,) = source["tables"]
    for text in (source["schema"], found["identifier"]):
        assert text == f"{{% raw %}}{evil}{{% endraw %}}"
    assert "{{" not in source["description"] + found["description"]


@pytest.mark.parametrize(
    ("age", "expected"),
    [
        (timedelta(hours=36), {"count": 36, "period": "hour"}),
        (timedelta(days=2), {"count": 2, "period": "day"}),
        (timedelta(minutes=90), {"count": 90, "period": "minute"}),
    ],
)
def test_ages_are_in_dbts_periods(age: timedelta, expected: dict[str, Any]) -> None:
    (source,) = sources(ORDERS, freshness=Freshness(None, age))
    assert source["config"]["freshness"] == {"error_after": expected}
    (without,) = sources(ORDERS, freshness=Freshness(None, None))
    assert without["config"]["freshness"] is None
    with pytest.raises(SettingsError, match="minutes, hours or days"):
        sources(ORDERS, freshness=Freshness(timedelta(seconds=30), None))


def test_only_a_file_of_its_own_is_replaced(tmp_path: Path) -> None:
    file = tmp_path / "sources.yml"
    write_sources(file, HEADER)
    write_sources(file, f"{HEADER}version: 2\n")
    assert file.read_text() == f"{HEADER}version: 2\n"
    file.write_text("version: 2\n")
    with pytest.raises(SettingsError, match="only one that binlake dbt-sources has written"):
        write_sources(file, HEADER)
    with pytest.raises(SettingsError, match="cannot be written"):
        write_sources(tmp_path / "none" / "sources.yml", HEADER)
