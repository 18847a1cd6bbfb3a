"""Checks of variables for servers of many versions, and the remedies."""

from __future__ import annotations

from dataclasses import asdict
from typing import Any

import pytest

from pipeline.settings import Settings
from pipeline.source.check.facts import CheckedTable, LogFilter
from pipeline.source.check.finding import Finding, RemedySteps
from pipeline.source.check.run import findings
from pipeline.source.check.variables import (
    log_filter,
    lower_case_table_names,
    system_time_zone,
)
from tests.support.source.made_facts import VARIABLES, made_facts

MYSQL = ("5.7.44-log", "8.0.45", "8.4.7", "9.7.0")
MARIADB = ("10.3.39-MariaDB", "10.11.14-MariaDB", "11.8.3-MariaDB")
NAMELESS = ("5.6.51-log", "5.7.44-log", "10.3.39-MariaDB")
"""Versions whose logs never name columns."""


def found(
    version: str, variables: dict[str, str | None], settings: Settings | None = None
) -> dict[str, Finding]:
    facts = made_facts(version, variables)
    return {finding.check: finding for finding in findings(facts, settings or Settings.load())}


@pytest.mark.parametrize("version", VARIABLES)
def test_a_well_configured_server_is_fit(version: str) -> None:
    definitions = {"definitions": "shop.sql", "default_charset": "latin1"}
    settings = Settings.load(**(definitions if version in NAMELESS else {}))
    verdicts = {check: finding.verdict for check, finding in found(version, {}, settings).items()}
    assert set(verdicts.values()) == {"ok"}
    assert {"log_bin", "binlog_format", "binlog_row_image", "binlog_checksum"} <= verdicts.keys()


@pytest.mark.parametrize(
    ("version", "absent"),
    [
        ("5.7.44-log", {"binlog_row_value_options", "binlog_encryption", "gtid_strict_mode"}),
        ("8.4.7", {"gtid_strict_mode", "log_bin_compress", "encrypt_binlog", "expire_logs_days"}),
        ("10.3.39-MariaDB", {"gtid_mode", "binlog_row_value_options", "binlog_encryption"}),
        ("11.8.3-MariaDB", {"gtid_mode", "binlog_transaction_compression"}),
    ],
)
def test_variables_that_a_version_lacks_are_not_checked(version: str, absent: set[str]) -> None:
    assert not absent & found(version, {}).keys()


PERSIST = "SET PERSIST {} = {}"
GLOBAL = "SET GLOBAL {} = {}"


WRONG = (
    ("server_id", "0", "problem", "1"),
    ("binlog_format", "STATEMENT", "problem", "ROW"),
    ("binlog_format", "MIXED", "problem", "ROW"),
    ("binlog_checksum", "NONE", "advice", "CRC32"),
    ("binlog_row_metadata", "MINIMAL", "advice", "FULL"),
    ("binlog_row_value_options", "PARTIAL_JSON", "advice", "''"),
    ("gtid_strict_mode", "OFF", "advice", "ON"),
    ("max_binlog_total_size", "1073741824", "advice", "0"),
)


@pytest.mark.parametrize(
    ("version", "variable", "has", "verdict", "value"),
    [
        (version, *wrong)
        for version in VARIABLES
        for wrong in WRONG
        if wrong[0] in VARIABLES[version]
    ],
)
def test_a_variable_is_set_persistently_for_its_version(
    version: str, variable: str, has: str, verdict: str, value: str
) -> None:
    finding = found(version, {variable: has})[variable]
    assert (finding.verdict, finding.change.restart) == (verdict, False)
    is_persistent = version in {"8.0.45", "8.4.7", "9.7.0"}
    statement = (PERSIST if is_persistent else GLOBAL).format(variable, value)
    assert finding.change.statements == (statement,)
    lasting = () if is_persistent else (f"{variable} = {value}",)
    assert finding.change.option_file == lasting


OWN = "no other server has"


@pytest.mark.parametrize("version", VARIABLES)
@pytest.mark.parametrize("server_id", ["0", None, "1", "7"])
def test_enabling_the_log_needs_a_restart(version: str, server_id: str | None) -> None:
    finding = found(version, {"log_bin": "OFF", "server_id": server_id})["log_bin"]
    assert finding.verdict == "problem"
    # An existing id is kept: a duplicate would break replication.
    lacks = server_id in {"0", None}
    lines = ("log_bin = binlog", "server_id = 1") if lacks else ("log_bin = binlog",)
    assert finding.change == RemedySteps((), lines, restart=True)
    assert (OWN in finding.why) is lacks


def test_the_remedy_asks_for_a_unique_server_id() -> None:
    assert OWN in found("9.7.0", {"server_id": "0"})["server_id"].why


@pytest.mark.parametrize(
    ("version", "image", "verdict"),
    [
        *((version, "MINIMAL", "advice") for version in MYSQL),
        *((version, "NOBLOB", "advice") for version in MYSQL),
        *((version, "MINIMAL", "problem") for version in MARIADB),
        *((version, "NOBLOB", "problem") for version in MARIADB),
        ("11.8.3-MariaDB", "FULL_NODUP", "advice"),
    ],
)
def test_partial_images_are_supported_on_mysql_only(version: str, image: str, verdict: str) -> None:
    finding = found(version, {"binlog_row_image": image})["binlog_row_image"]
    assert finding.verdict == verdict
    assert finding.change.statements[0].endswith("binlog_row_image = FULL")


@pytest.mark.parametrize(
    ("version", "metadata", "conf"),
    [
        ("5.7.44-log", None, ("default_charset: latin1",)),
        ("10.3.39-MariaDB", None, ("default_charset: latin1",)),
        ("10.11.14-MariaDB", "NO_LOG", ("default_charset: latin1",)),
        ("8.0.45", "MINIMAL", ()),
        ("9.7.0", "MINIMAL", ()),
    ],
)
def test_a_log_without_column_names_is_reported_with_lines_for_conf(
    version: str, metadata: str | None, conf: tuple[str, ...]
) -> None:
    finding = found(version, {"binlog_row_metadata": metadata})["binlog_row_metadata"]
    assert (finding.verdict, finding.change.conf) == ("advice", conf)
    assert bool(finding.change.statements) is (metadata is not None)


@pytest.mark.parametrize(
    ("version", "mode", "steps"),
    [
        ("9.7.0", "OFF", ["OFF_PERMISSIVE", "ON_PERMISSIVE", "ON"]),
        ("8.0.45", "OFF_PERMISSIVE", ["ON_PERMISSIVE", "ON"]),
        ("5.7.44-log", "ON_PERMISSIVE", ["ON"]),
    ],
)
def test_gtids_are_enabled_step_by_step(version: str, mode: str, steps: list[str]) -> None:
    finding = found(version, {"gtid_mode": mode})["gtid_mode"]
    assert finding.verdict == "advice"
    first, *others = (statement.split(" = ")[1] for statement in finding.change.statements)
    assert (first, others) == ("ON", steps)
    is_old = version == "5.7.44-log"
    lasting = ("enforce_gtid_consistency = ON", "gtid_mode = ON") if is_old else ()
    assert finding.change.option_file == lasting


def test_enabling_gtids_on_old_servers_needs_a_restart() -> None:
    change = found("5.6.51-log", {"gtid_mode": "OFF"})["gtid_mode"].change
    assert (change.statements, change.restart) == ((), True)
    assert "log_slave_updates = ON" in change.option_file


@pytest.mark.parametrize(
    ("version", "variables", "verdict", "has", "statements"),
    [
        (
            "5.7.44-log",
            {"expire_logs_days": "1"},
            "advice",
            "1 day",
            ("SET GLOBAL expire_logs_days = 7",),
        ),
        ("5.7.44-log", {"expire_logs_days": "3"}, "ok", "3 days", ()),
        ("5.7.44-log", {"expire_logs_days": "0"}, "ok", "forever", ()),
        (
            "8.0.45",
            {"binlog_expire_logs_seconds": "0", "expire_logs_days": "1"},
            "advice",
            "1 day",
            (
                "SET PERSIST expire_logs_days = 0",
                "SET PERSIST binlog_expire_logs_seconds = 604800",
            ),
        ),
        (
            "9.7.0",
            {"binlog_expire_logs_seconds": "43200"},
            "advice",
            "0.5 days",
            ("SET PERSIST binlog_expire_logs_seconds = 604800",),
        ),
        (
            "9.7.0",
            {"binlog_expire_logs_seconds": "60", "binlog_expire_logs_auto_purge": "OFF"},
            "ok",
            "forever",
            (),
        ),
        (
            "10.3.39-MariaDB",
            {"expire_logs_days": "2"},
            "advice",
            "2 days",
            ("SET GLOBAL expire_logs_days = 7",),
        ),
        (
            "10.11.14-MariaDB",
            {"expire_logs_days": "0.500000", "binlog_expire_logs_seconds": "43200"},
            "advice",
            "0.5 days",
            ("SET GLOBAL binlog_expire_logs_seconds = 604800",),
        ),
    ],
)
def test_a_short_retention_is_extended(
    version: str,
    variables: dict[str, str | None],
    verdict: str,
    has: str,
    statements: tuple[str, ...],
) -> None:
    every = found(version, variables)
    finding = every.get("binlog_expire_logs_seconds") or every["expire_logs_days"]
    assert (finding.verdict, finding.has) == (verdict, has)
    assert finding.change.statements == statements


def test_mysqls_encrypted_logs_need_a_key_in_conf() -> None:
    variables: dict[str, str | None] = {"binlog_encryption": "ON"}
    finding = found("8.4.7", variables)["binlog_encryption"]
    assert finding.verdict == "advice"
    assert finding.change.conf[0].startswith("encryption: {keyring: ")
    for encryption in ({"keyring": "/k"}, {"passwords": {"binlog.000001": "0" * 64}}):
        settings = Settings.load(encryption=encryption)
        assert found("8.4.7", variables, settings)["binlog_encryption"].verdict == "ok"


def test_mariadbs_encrypted_logs_are_a_problem() -> None:
    finding = found("10.11.14-MariaDB", {"encrypt_binlog": "ON"})["encrypt_binlog"]
    assert (finding.verdict, finding.change.restart) == ("problem", True)
    assert finding.change.option_file == ("encrypt_binlog = OFF",)


@pytest.mark.parametrize(
    ("version", "variable"),
    [("9.7.0", "binlog_transaction_compression"), ("11.8.3-MariaDB", "log_bin_compress")],
)
def test_compressed_logs_are_fit(version: str, variable: str) -> None:
    finding = found(version, {variable: "ON"})[variable]
    assert (finding.verdict, finding.has) == ("ok", "ON")


@pytest.mark.parametrize(("has", "verdict"), [("", "ok"), ("InnoDB", "problem")])
def test_a_log_in_innodb_is_a_problem(has: str, verdict: str) -> None:
    finding = found("11.8.3-MariaDB", {"binlog_storage_engine": has})["binlog_storage_engine"]
    assert finding.verdict == verdict
    unset = RemedySteps((), ("binlog_storage_engine =",), restart=True)
    assert finding.change == (unset if has else RemedySteps())
    assert "binlog_storage_engine" not in found("11.8.3-MariaDB", {})


@pytest.mark.parametrize(
    ("offset", "conf", "verdict", "has"),
    [
        (0, "UTC", "ok", "+00:00"),
        (1, "UTC", "ok", "+00:00"),
        (7200, "Europe/Paris", "ok", "+02:00"),
        (3600, "Europe/Paris", "problem", "+01:00"),
        (7200, "UTC", "problem", "+02:00"),
        (-12601, "UTC", "problem", "-03:30"),
        (-12600, "-03:30", "ok", "-03:30"),
    ],
)
def test_the_servers_utc_offset_is_compared_with_conf(
    offset: int, conf: str, verdict: str, has: str
) -> None:
    facts = made_facts("9.7.0", utc_offset=offset)
    (finding,) = system_time_zone(facts, Settings.load(system_time_zone=conf))
    assert (finding.verdict, finding.has) == (verdict, has)
    expected = (f'system_time_zone: "{has}"',) if verdict == "problem" else ()
    assert finding.change.conf == expected
    if expected:
        Settings.load(system_time_zone=has)


@pytest.mark.parametrize(
    ("server", "conf", "verdict"),
    [
        ("0", None, "ok"),
        ("0", 0, "ok"),
        ("1", 1, "ok"),
        ("1", None, "problem"),
        ("2", 1, "problem"),
        ("0", 1, "problem"),
    ],
)
def test_lower_case_table_names_must_match_the_server(
    server: str, conf: int | None, verdict: str
) -> None:
    facts = made_facts("8.4.7", {"lower_case_table_names": server})
    (finding,) = lower_case_table_names(facts, Settings.load(lower_case_table_names=conf))
    assert finding.verdict == verdict
    expected = (f"lower_case_table_names: {server}",) if verdict == "problem" else ()
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
    tables = (CheckedTable("shop", "orders"), CheckedTable("crm", "people"))
    filtered = LogFilter(frozenset(do), frozenset(ignore))
    facts = made_facts("9.7.0", log_filter=filtered, tables=tables)
    (finding,) = log_filter(facts, Settings.load(include=include))
    assert finding.verdict == ("problem" if missing else "ok")
    assert finding.change.restart is bool(missing)
    if missing:
        assert finding.has == f"exclude {missing}"


def test_an_invisible_log_filter_is_not_checked() -> None:
    unseen: list[Any] = list(log_filter(made_facts("9.7.0", log_filter=None), Settings.load()))
    assert unseen == []


def test_a_finding_is_a_json_object() -> None:
    (finding,) = system_time_zone(made_facts("9.7.0", utc_offset=60), Settings.load())
    assert isinstance(finding, Finding)
    values = asdict(finding)
    assert values["check"] == "system_time_zone"
    assert values["change"]["conf"] == ('system_time_zone: "+00:01"',)
