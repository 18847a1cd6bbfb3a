"""Checks of settings in conf that must match the server."""

from __future__ import annotations

from typing import Any

import pytest

from pipeline.settings import Settings
from pipeline.source.check.facts import LogFilter, SourceTable
from pipeline.source.check.finding import Finding
from pipeline.source.check.time_and_names import (
    log_filter,
    lower_case_table_names,
    system_time_zone,
)
from tests.support.source.made_facts import made_facts


@pytest.mark.parametrize(
    ("offset", "conf", "verdict", "has"),
    [
        (0, "UTC", "fit", "+00:00"),
        (1, "UTC", "fit", "+00:00"),
        (7200, "Europe/Paris", "fit", "+02:00"),
        (3600, "Europe/Paris", "unfit", "+01:00"),
        (7200, "UTC", "unfit", "+02:00"),
        (-12601, "UTC", "unfit", "-03:30"),
        (-12600, "-03:30", "fit", "-03:30"),
    ],
)
def test_the_servers_utc_offset_is_compared_with_conf(
    offset: int, conf: str, verdict: str, has: str
) -> None:
    facts = made_facts("9.7.0", utc_offset=offset)
    (finding,) = system_time_zone(facts, Settings.load(system_time_zone=conf))
    assert (finding.verdict, finding.has) == (verdict, has)
    expected = (f'system_time_zone: "{has}"',) if verdict == "unfit" else ()
    assert finding.change.conf == expected
    if expected:
        Settings.load(system_time_zone=has)


@pytest.mark.parametrize(
    ("server", "conf", "verdict"),
    [
        ("0", None, "fit"),
        ("0", 0, "fit"),
        ("1", 1, "fit"),
        ("1", None, "unfit"),
        ("2", 1, "unfit"),
        ("0", 1, "unfit"),
    ],
)
def test_lower_case_table_names_must_match_the_server(
    server: str, conf: int | None, verdict: str
) -> None:
    facts = made_facts("8.4.7", {"lower_case_table_names": server})
    (finding,) = lower_case_table_names(facts, Settings.load(lower_case_table_names=conf))
    assert finding.verdict == verdict
    expected = (f"lower_case_table_names: {server}",) if verdict == "unfit" else ()
    assert finding.change.conf == expected


@pytest.mark.parametrize(
    ("do", "ignore", "include", "missing"),
    [
        ((), (), (), ""),
        (("shop",), (), ("shop.*",), ""),
        (("shop",), (), (), "crm"),
        ((), ("crm",), (), "crm"),
        ((), ("crm",), ("shop.*",), ""),
        (("other",), (), (), "crm, shop"),
    ],
)
def test_included_schemas_that_are_not_logged_are_reported(
    do: tuple[str, ...], ignore: tuple[str, ...], include: tuple[str, ...], missing: str
) -> None:
    tables = (SourceTable("shop", "orders"), SourceTable("crm", "people"))
    filtered = LogFilter(frozenset(do), frozenset(ignore))
    facts = made_facts("9.7.0", log_filter=filtered, tables=tables)
    (finding,) = log_filter(facts, Settings.load(include=include))
    assert finding.verdict == ("unfit" if missing else "fit")
    assert finding.change.restart is bool(missing)
    if missing:
        assert finding.has == f"exclude {missing}"


def test_an_invisible_log_filter_is_not_checked() -> None:
    unseen: list[Any] = list(log_filter(made_facts("9.7.0", log_filter=None), Settings.load()))
    assert unseen == []


def test_a_finding_is_a_json_object() -> None:
    (finding,) = system_time_zone(made_facts("9.7.0", utc_offset=60), Settings.load())
    assert isinstance(finding, Finding)
    values = finding.to_values()
    assert values["check"] == "system_time_zone"
    assert values["change"]["conf"] == ('system_time_zone: "+00:01"',)
