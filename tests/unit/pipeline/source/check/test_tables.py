"""Checks of the tables that conf includes."""

from __future__ import annotations

from typing import Any

import pytest
import yaml

from pipeline.settings import Settings
from pipeline.source.check.facts import CheckedTable, SourceForeignKey
from pipeline.source.check.finding import Finding
from pipeline.source.check.tables import ENGINES, engines, foreign_keys, keys, kinds, seen
from tests.support.source.made_facts import made_facts

ORDERS = CheckedTable("shop", "orders")
KEYLESS = CheckedTable("shop", "log", keyed=False)


def of(*tables: CheckedTable, version: str = "9.7.0") -> Any:
    return made_facts(version, tables=tables)


@pytest.mark.parametrize(
    ("conf", "keyless"),
    [
        ({}, ("shop.log",)),
        ({"exclude": ["shop.log"]}, ()),
        ({"include": ["shop.orders"]}, ()),
        ({"keys": {"shop.log": ["at", "line"]}}, ()),
        ({"keys": {"*.log": ["at", "line"]}}, ()),
        ({"keys": {"s*.l?g": ["at", "line"]}}, ()),
        ({"keys": {"*.log": ["at"], "shop.log": []}}, ("shop.log",)),
        ({"keys": {"crm.*": ["at"]}}, ("shop.log",)),
    ],
)
def test_keyless_tables_are_reported_unless_conf_has_a_key(
    conf: dict[str, Any], keyless: tuple[str, ...]
) -> None:
    (finding,) = keys(of(ORDERS, KEYLESS), Settings.load(**conf))
    assert (finding.verdict, finding.tables) == ("advice" if keyless else "ok", keyless)
    if keyless:
        assert yaml.safe_load("\n".join(finding.change.conf)) == {"keys": {"shop.log": ["columns"]}}


def test_system_tables_are_not_checked() -> None:
    own = CheckedTable("mysql", "general_log", engine="CSV", keyed=False)
    assert [finding.verdict for finding in keys(of(ORDERS, own), Settings.load())] == ["ok"]
    assert [finding.verdict for finding in engines(of(ORDERS, own), Settings.load())] == ["ok"]


def test_without_visible_tables_only_that_is_reported() -> None:
    (finding,) = seen(of(), Settings.load())
    assert (finding.verdict, finding.has) == ("advice", "0 tables")
    assert [*keys(of(), Settings.load()), *engines(of(), Settings.load())] == []
    (finding,) = seen(of(ORDERS), Settings.load())
    assert (finding.verdict, finding.has) == ("ok", "1 table")


@pytest.mark.parametrize("engine", [*ENGINES, "RocksDB"])
def test_engines_whose_tables_differ_from_their_log_should_be_excluded(engine: str) -> None:
    table = CheckedTable("shop", "odd", engine=engine.upper())
    by_check = {found.check: found for found in engines(of(ORDERS, table), Settings.load())}
    fit = by_check.pop("storage engine InnoDB")
    (finding,) = by_check.values()
    assert (fit.verdict, fit.has) == ("ok", "1 table")
    assert finding.tables == ("shop.odd",)
    assert finding.verdict == ENGINES.get(engine, ("advice", ""))[0]
    if finding.verdict == "problem":
        conf = yaml.safe_load("\n".join(finding.change.conf))
        excluded = Settings.load(**conf)
        assert [found.verdict for found in engines(of(ORDERS, table), excluded)] == ["ok"]


@pytest.mark.parametrize(
    ("kind", "verdict"), [("SYSTEM VERSIONED", "problem"), ("SEQUENCE", "advice")]
)
def test_mariadbs_unsupported_kinds_of_tables_are_reported(kind: str, verdict: str) -> None:
    table = CheckedTable("shop", "odd", kind=kind)
    facts = of(ORDERS, table, version="11.8.3-MariaDB")
    (finding,) = kinds(facts, Settings.load())
    assert (finding.verdict, finding.tables) == (verdict, ("shop.odd",))
    assert list(kinds(facts, Settings.load(exclude=["shop.odd"]))) == []


CASCADE = SourceForeignKey(("shop", "lines"), ("shop", "orders"), on_delete="CASCADE")
NATIVE = {"innodb_native_foreign_keys": "ON"}


def judged(version: str, variables: dict[str, str | None], *of_all: Any, **conf: Any) -> Finding:
    facts = made_facts(version, variables, foreign_keys=of_all)
    (finding,) = foreign_keys(facts, Settings.load(**conf))
    return finding


@pytest.mark.parametrize("version", ["5.7.44-log", "8.4.7", "9.7.0", "11.8.3-MariaDB"])
def test_foreign_keys_that_change_no_rows_are_fit(version: str) -> None:
    key = SourceForeignKey(("shop", "lines"), ("shop", "orders"), "RESTRICT", "NO ACTION")
    assert judged(version, {}, key).has == "none that change rows"
    assert judged(version, {}, CASCADE, exclude=["shop.lines"]).has == "none that change rows"


@pytest.mark.parametrize("rule", ["CASCADE", "SET NULL"])
def test_rules_on_update_count_as_cascades(rule: str) -> None:
    key = SourceForeignKey(("shop", "lines"), ("shop", "orders"), on_update=rule)
    assert judged("8.4.7", {}, key).tables == ("shop.lines",)


def test_logged_cascades_are_ok_whatever_is_included() -> None:
    finding = judged("9.7.0", {}, CASCADE, include=["shop.lines"])
    assert (finding.verdict, finding.has) == ("ok", "innodb_native_foreign_keys=OFF")


@pytest.mark.parametrize(
    ("version", "variables", "verdict"),
    [
        ("8.4.7", {}, "ok"),
        ("10.11.14-MariaDB", {}, "ok"),
        ("9.7.0", NATIVE, "advice"),
    ],
)
def test_gold_replays_unlogged_cascades_if_the_parents_are_included(
    version: str, variables: dict[str, str | None], verdict: str
) -> None:
    finding = judged(version, variables, CASCADE)
    assert finding.verdict == verdict
    option_file = ("innodb_native_foreign_keys = OFF",) if verdict == "advice" else ()
    assert (finding.change.option_file, finding.change.conf) == (option_file, ())
    # A child table is held without its parent.
    finding = judged(version, variables, CASCADE, include=["shop.lines"])
    assert (finding.verdict, finding.tables) == ("problem", ("shop.lines",))
    assert yaml.safe_load("\n".join(finding.change.conf)) == {"include": ["shop.orders"]}
    # If conf says that cascades are logged, gold does not replay them.
    finding = judged(version, variables, CASCADE, foreign_keys_logged=True)
    assert (finding.verdict, finding.change.conf) == ("problem", ("foreign_keys_logged: auto",))
