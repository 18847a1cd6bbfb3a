"""`binlake check` with real servers: wrong settings are found, and fixed by the given
statements.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
import yaml

from pipeline.source.check.finding import Finding
from pipeline.source.server.connection import connect, explained_errors
from pipeline.source.server.errors import ServerError, ServerUnreachableError
from pipeline.source.server.version import server_version
from tests.support.servers.mariadb import MariaDBFactory, MariaDBServer, NewestMariaDBServer
from tests.support.servers.mysql import MySQLFactory, MySQLServer
from tests.support.servers.server import Server, free_port
from tests.support.source.checking import PASSWORD, TABLES, checked, finding, not_fit, reader, root


@pytest.fixture(scope="module")
def source(mysql_factory: MySQLFactory) -> MySQLServer:
    server = mysql_factory()
    server.execute(TABLES)
    return server


@pytest.fixture(scope="module")
def mariadb_source(mariadb_factory: MariaDBFactory) -> MariaDBServer:
    server = mariadb_factory("--gtid-strict-mode=ON")
    server.execute(TABLES)
    return server


@pytest.fixture(scope="module")
def newest_source(newest_mariadb: NewestMariaDBServer) -> Iterator[NewestMariaDBServer]:
    newest_mariadb.execute(f"SET GLOBAL gtid_strict_mode = ON; {TABLES}")
    yield newest_mariadb
    newest_mariadb.execute("SET GLOBAL gtid_strict_mode = OFF; DROP DATABASE shop")


SOURCES = ("source", "mariadb_source", "newest_source")


@pytest.mark.parametrize("which", SOURCES)
def test_a_well_configured_server_passes(request: pytest.FixtureRequest, which: str) -> None:
    report = checked(request.getfixturevalue(which))
    assert not_fit(report) == []
    assert finding(report, "tables").has == "2 tables"


BOTH = (
    ("SET GLOBAL binlog_format = MIXED", "binlog_format", "problem"),
    ("SET GLOBAL binlog_format = STATEMENT", "binlog_format", "problem"),
    ("SET GLOBAL binlog_row_metadata = MINIMAL", "binlog_row_metadata", "advice"),
    ("SET GLOBAL binlog_checksum = NONE", "binlog_checksum", "advice"),
    ("SET GLOBAL binlog_expire_logs_seconds = 3600", "binlog_expire_logs_seconds", "advice"),
)
GTIDS_OFF = """
SET GLOBAL gtid_mode = ON_PERMISSIVE; SET GLOBAL gtid_mode = OFF_PERMISSIVE;
SET GLOBAL gtid_mode = OFF; SET GLOBAL enforce_gtid_consistency = OFF
"""
MYSQLS = (
    *BOTH,
    # MariaDB makes a 1 of it.
    ("SET GLOBAL server_id = 0", "server_id", "problem"),
    ("SET GLOBAL binlog_row_image = MINIMAL", "binlog_row_image", "advice"),
    ("SET GLOBAL binlog_row_image = NOBLOB", "binlog_row_image", "advice"),
    (
        "SET GLOBAL binlog_row_value_options = PARTIAL_JSON",
        "binlog_row_value_options",
        "advice",
    ),
    ("SET GLOBAL gtid_mode = ON_PERMISSIVE", "gtid_mode", "advice"),
    (GTIDS_OFF, "gtid_mode", "advice"),
)
MARIADBS = (
    *BOTH,
    ("SET GLOBAL binlog_row_metadata = NO_LOG", "binlog_row_metadata", "advice"),
    ("SET GLOBAL binlog_row_image = MINIMAL", "binlog_row_image", "problem"),
    ("SET GLOBAL binlog_row_image = NOBLOB", "binlog_row_image", "problem"),
    ("SET GLOBAL gtid_strict_mode = OFF", "gtid_strict_mode", "advice"),
    ("SET GLOBAL expire_logs_days = 1", "binlog_expire_logs_seconds", "advice"),
)
NEWEST = (
    *MARIADBS,
    ("SET GLOBAL binlog_row_image = FULL_NODUP", "binlog_row_image", "advice"),
    ("SET GLOBAL max_binlog_total_size = 1073741824", "max_binlog_total_size", "advice"),
)


@pytest.mark.parametrize(
    ("which", "wrong", "check", "verdict"),
    [
        (which, *case)
        for which, cases in zip(SOURCES, (MYSQLS, MARIADBS, NEWEST), strict=True)
        for case in cases
    ],
)
def test_wrong_settings_are_found_and_fixed_by_the_given_statements(
    request: pytest.FixtureRequest, which: str, wrong: str, check: str, verdict: str
) -> None:
    server: Server = request.getfixturevalue(which)
    server.execute(wrong)
    report = checked(server)
    assert not_fit(report) == [check]
    found = finding(report, check)
    assert found.verdict == verdict
    for statement in found.change.statements:
        server.execute(statement)
    assert not_fit(checked(server)) == []


def restarted(server: Server, found: Finding) -> None:
    """Restart the server with the lines that a finding gives for the option file."""
    assert found.change.restart
    server.stop()
    server.start(*("--" + line.replace(" = ", "=") for line in found.change.option_file))


def test_a_server_without_a_log_fails_until_started_with_one(
    mysql_factory: MySQLFactory, mariadb_factory: MariaDBFactory
) -> None:
    for factory in (mysql_factory, mariadb_factory):
        server: Server = factory("--skip-log-bin")
        found = finding(checked(server), "log_bin")
        assert (found.verdict, found.has) == ("problem", "OFF")
        restarted(server, found)
        assert finding(checked(server), "log_bin").verdict == "ok"


def test_foreign_keys_that_the_server_does_not_log_are_advice_until_it_does(
    mysql_factory: MySQLFactory,
) -> None:
    server = mysql_factory("--innodb-native-foreign-keys=ON")
    server.execute(TABLES)
    report = checked(server)
    assert not_fit(report) == ["foreign keys"]
    assert finding(report, "foreign keys").tables == ("shop.lines",)
    alone = finding(checked(server, include=["shop.lines"]), "foreign keys")
    assert alone.verdict == "problem"
    restarted(server, finding(report, "foreign keys"))
    assert not_fit(checked(server)) == []


def test_encrypted_logs_are_advice_until_conf_has_the_keyring(
    mysql_factory: MySQLFactory, tmp_path: Path
) -> None:
    keyring = tmp_path / "keyring"
    server = mysql_factory("--binlog-encryption=ON", keyring=keyring)
    server.execute(TABLES)
    assert not_fit(checked(server)) == ["binlog_encryption"]
    assert not_fit(checked(server, encryption={"keyring": str(keyring)})) == []


def test_the_given_lines_of_conf_make_the_check_pass(mariadb_factory: MariaDBFactory) -> None:
    options = ("--lower-case-table-names=1", "--binlog-ignore-db=crm", "--gtid-strict-mode=ON")
    server = mariadb_factory(*options)
    server.execute(f"{TABLES} CREATE DATABASE crm; CREATE TABLE crm.people (id INT PRIMARY KEY)")
    report = checked(server)
    assert not_fit(report) == ["lower_case_table_names"]
    conf = yaml.safe_load("\n".join(finding(report, "lower_case_table_names").change.conf))
    assert not_fit(checked(server, **conf)) == []
    of_all = checked(server, **conf, include=[])
    assert not_fit(of_all) == ["binlog_do_db, binlog_ignore_db"]
    assert finding(of_all, "binlog_do_db, binlog_ignore_db").has == "exclude crm"


def test_keys_and_engines_of_tables_are_checked(source: MySQLServer) -> None:
    source.execute(
        """
        CREATE DATABASE odd;
        CREATE TABLE odd.none (a INT);
        CREATE TABLE odd.nullable (a INT, UNIQUE (a));
        CREATE TABLE odd.prefixed (a VARCHAR(50) NOT NULL, UNIQUE (a (5)));
        CREATE TABLE odd.computed (a INT NOT NULL, UNIQUE ((a + 1)));
        CREATE TABLE odd.second (a INT, b INT NOT NULL, UNIQUE (a), UNIQUE (b));
        CREATE TABLE odd.hole (a INT PRIMARY KEY) ENGINE = BLACKHOLE;
        CREATE TABLE odd.fleeting (a INT PRIMARY KEY) ENGINE = MEMORY;
        CREATE TABLE odd.old (a INT PRIMARY KEY) ENGINE = MyISAM;
        CREATE VIEW odd.view AS SELECT * FROM odd.none;
        """
    )
    try:
        report = checked(source, include=["odd.*"])
    finally:
        source.execute("DROP DATABASE odd")
    keyless = finding(report, "tables without a key").tables
    assert keyless == ("odd.computed", "odd.none", "odd.nullable", "odd.prefixed")
    verdicts = {
        found.check: (found.verdict, found.tables)
        for found in report.findings
        if found.check.startswith("storage engine")
    }
    assert verdicts == {
        "storage engine BLACKHOLE": ("problem", ("odd.hole",)),
        "storage engine InnoDB": ("ok", ()),
        "storage engine MEMORY": ("advice", ("odd.fleeting",)),
        "storage engine MyISAM": ("advice", ("odd.old",)),
    }


def test_excluded_tables_of_mariadb_are_reported(mariadb_source: MariaDBServer) -> None:
    mariadb_source.execute(
        """
        CREATE DATABASE odd;
        CREATE TABLE odd.versioned (a INT PRIMARY KEY) WITH SYSTEM VERSIONING;
        CREATE SEQUENCE odd.numbers;
        """
    )
    try:
        report = checked(mariadb_source, include=["odd.*"])
    finally:
        mariadb_source.execute("DROP DATABASE odd")
    assert finding(report, "system versioned").tables == ("odd.versioned",)
    assert finding(report, "sequence").tables == ("odd.numbers",)


@pytest.mark.parametrize("which", SOURCES)
def test_the_grants_reported_to_a_user_make_the_check_pass(
    request: pytest.FixtureRequest, which: str
) -> None:
    server: Server = request.getfixturevalue(which)
    server.execute("DROP USER IF EXISTS reader")
    server.execute("CREATE USER reader IDENTIFIED BY %s", [PASSWORD])
    report = checked(server, reader(server))
    grants = [found for found in report.findings if found.check.startswith("grant ")]
    assert [found.verdict for found in grants] == [*["problem"] * 4, "advice"]
    assert {"reader@% does not have it on *.*", "reader@% does not have it on `shop`.*"} == {
        found.has for found in grants
    }
    # It sees no table, and does not say that all are well.
    assert finding(report, "tables").has == "0 tables"
    for found in grants:
        for statement in found.change.statements:
            server.execute(statement)
    report = checked(server, reader(server))
    assert not_fit(report) == []
    assert finding(report, "tables").has == "2 tables"
    # It is what a seed and a capture ask.
    with connect(reader(server)) as connection, connection.cursor() as cursor:
        cursor.execute(server_version(connection).log_status_statement)
        for statement in ("FLUSH TABLES WITH READ LOCK", "SELECT * FROM shop.orders"):
            cursor.execute(statement)


@pytest.mark.parametrize("partial_revokes", ["ON", "OFF"])
def test_grants_escape_the_schemas_name(source: MySQLServer, partial_revokes: str) -> None:
    source.execute(f"SET GLOBAL partial_revokes = {partial_revokes}; CREATE DATABASE a_b")
    try:
        source.execute("DROP USER IF EXISTS reader")
        source.execute("CREATE USER reader IDENTIFIED BY %s", [PASSWORD])
        found = finding(checked(source, reader(source), include=["a_b.*"]), "grant SELECT")
        for statement in found.change.statements:
            source.execute(statement)
        report = checked(source, reader(source), include=["a_b.*"])
        other = checked(source, reader(source), include=["axb.*"])
    finally:
        source.execute("DROP USER reader; DROP DATABASE a_b; SET GLOBAL partial_revokes = OFF")
    assert finding(report, "grant SELECT").verdict == "ok"
    assert finding(other, "grant SELECT").verdict == "problem"


def test_partial_revokes_are_missing_grants(source: MySQLServer) -> None:
    source.execute("SET GLOBAL partial_revokes = ON; DROP USER IF EXISTS reader")
    try:
        source.execute("CREATE USER reader IDENTIFIED BY %s", [PASSWORD])
        source.execute("GRANT SELECT ON *.* TO reader; REVOKE SELECT ON shop.* FROM reader")
        found = finding(checked(source, reader(source)), "grant SELECT")
        for statement in found.change.statements:
            source.execute(statement)
        report = checked(source, reader(source))
    finally:
        source.execute("DROP USER reader; SET GLOBAL partial_revokes = OFF")
    assert found.verdict == "problem"
    assert finding(report, "grant SELECT").verdict == "ok"


@pytest.mark.parametrize(("which", "to"), [("source", "TO"), ("mariadb_source", "FOR")])
def test_grants_of_an_active_role_count(
    request: pytest.FixtureRequest, which: str, to: str
) -> None:
    server: Server = request.getfixturevalue(which)
    server.execute("DROP USER IF EXISTS reader; DROP ROLE IF EXISTS reading")
    server.execute("CREATE USER reader IDENTIFIED BY %s", [PASSWORD])
    server.execute(
        "CREATE ROLE reading; GRANT SELECT ON shop.* TO reading; GRANT reading TO reader"
    )
    assert finding(checked(server, reader(server)), "grant SELECT").verdict == "problem"
    server.execute(f"SET DEFAULT ROLE reading {to} reader")
    assert finding(checked(server, reader(server)), "grant SELECT").verdict == "ok"


def binlake(*arguments: str, **environment: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-m", "pipeline.cli", "check", *arguments],
        env={**os.environ, **environment},
        capture_output=True,
        text=True,
        check=False,
    )


def test_the_command_exits_with_3_if_a_check_fails(source: MySQLServer) -> None:
    source.execute("DROP USER IF EXISTS reader")
    source.execute("CREATE USER reader IDENTIFIED BY %s", [PASSWORD])
    url = f"mysql://reader@127.0.0.1:{source.port}"
    ended = binlake("--server", url, "--json", BINLAKE_SERVER_PASSWORD=PASSWORD)
    document = json.loads(ended.stdout)
    assert (ended.returncode, document["verdict"], ended.stderr) == (3, "problem", "")
    for found in document["findings"]:
        for statement in found["change"]["statements"]:
            source.execute(statement)
    outside = f"mysql://reader:{PASSWORD}@127.0.0.1:{source.port}"
    shown = binlake(BINLAKE_SERVER=outside)
    assert (shown.returncode, shown.stderr) == (0, "")
    assert f"127.0.0.1:{source.port}, as reader@%: ok" in shown.stdout
    assert PASSWORD not in shown.stdout + ended.stdout


def test_the_command_logs_one_line_if_it_cannot_query(source: MySQLServer) -> None:
    port = free_port()
    ended = binlake(
        "--server", f"mysql://reader@127.0.0.1:{port}", BINLAKE_SERVER_PASSWORD=PASSWORD
    )
    assert (ended.returncode, ended.stdout) == (1, "")
    assert ended.stderr.startswith(f"binlake: reader at 127.0.0.1:{port}: cannot connect: ")
    ended = binlake("--server", f"mysql://reader:{PASSWORD}@127.0.0.1:{source.port}")
    assert ended.returncode == 2
    assert ended.stderr.startswith("binlake: server.url: contains a password")
    assert PASSWORD not in ended.stderr


def test_a_lost_connection_may_be_retried(source: MySQLServer) -> None:
    with connect(root(source)) as connection, connection.cursor() as cursor:
        source.execute(f"KILL {connection.thread_id()}")
        with (
            pytest.raises(ServerUnreachableError, match="the connection was lost"),
            explained_errors(root(source)),
        ):
            cursor.execute("SELECT 1")


def test_a_failed_statement_is_reported_with_the_server(source: MySQLServer) -> None:
    failing = pytest.raises(ServerError, match=r"a statement failed: .*no_such")
    with connect(root(source)) as connection, failing as error, explained_errors(root(source)):
        connection.query("SELECT * FROM shop.no_such")
    assert str(source.socket) in str(error.value)
