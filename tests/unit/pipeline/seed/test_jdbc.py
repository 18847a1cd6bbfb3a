"""What Spark's JDBC source is told of a server: no secret where anybody sees it."""

from __future__ import annotations

from dataclasses import replace

import pytest
from pydantic import SecretStr

from pipeline.errors import SettingsError
from pipeline.seed.jdbc import JdbcSource
from pipeline.settings.server import TlsMode, TlsSettings
from pipeline.source.server.login import Login
from pipeline.source.server.version import ServerVersion

SECRET = "s3cr3t"
LOGIN = Login("db.example.com", "me", 3307, password=SecretStr(SECRET))
MYSQL, MARIADB = ServerVersion.read("9.7.0"), ServerVersion.read("11.8.2-MariaDB")


def test_the_password_is_an_option_of_its_own_and_nowhere_else() -> None:
    source = JdbcSource(LOGIN, MYSQL)
    assert source.options["password"] == SECRET
    assert source.options["user"] == "me"
    others = [value for name, value in source.options.items() if name != "password"]
    assert not [value for value in others if SECRET in value]
    assert SECRET not in repr(source)


@pytest.mark.parametrize(
    ("host", "url"),
    [
        ("db.example.com", "jdbc:mysql://db.example.com:3307/?permitMysqlScheme"),
        ("::1", "jdbc:mysql://[::1]:3307/?permitMysqlScheme"),
    ],
)
def test_where_the_server_is(host: str, url: str) -> None:
    assert JdbcSource(replace(LOGIN, host=host), MYSQL).options["url"] == url


@pytest.mark.parametrize(
    ("version", "limit"), [(MYSQL, "max_execution_time"), (MARIADB, "max_statement_time")]
)
def test_a_session_reads_for_as_long_as_it_takes(version: ServerVersion, limit: str) -> None:
    statement = JdbcSource(LOGIN, version).options["sessionVariables"]
    assert f"{limit} = 0" in statement
    assert "time_zone = '+00:00'" in statement


@pytest.mark.parametrize(
    ("version", "limit", "isolation"),
    [
        ("5.6.24-log", None, "tx_isolation"),
        ("5.7.19", "max_execution_time", "tx_isolation"),
        ("5.7.29-log", "max_execution_time", "transaction_isolation"),
        ("10.2.11-MariaDB", "max_statement_time", "tx_isolation"),
        ("11.4.5-MariaDB", "max_statement_time", "transaction_isolation"),
    ],
)
def test_a_session_sets_what_its_server_has(
    version: str, limit: str | None, isolation: str
) -> None:
    statement = JdbcSource(LOGIN, ServerVersion.read(version)).options["sessionVariables"]
    names = [part.partition(" = ")[0] for part in statement.split(", ")]
    known = ["time_zone", "sql_mode", "net_write_timeout", limit, "optimizer_switch", isolation]
    assert names == [name for name in known if name is not None]


@pytest.mark.parametrize(
    ("mode", "over_tls", "expected"),
    [
        ("disabled", False, "disable"),
        ("preferred", False, "disable"),
        ("preferred", True, "trust"),
        ("required", True, "trust"),
        ("verify_ca", True, "verify-ca"),
        ("verify_identity", True, "verify-full"),
    ],
)
def test_tls_is_what_settings_ask_for(mode: TlsMode, over_tls: bool, expected: str) -> None:
    login = replace(LOGIN, tls=TlsSettings(mode=mode))
    assert JdbcSource(login, MYSQL, over_tls).options["sslMode"] == expected


def test_the_authority_is_given_to_the_connector() -> None:
    login = replace(LOGIN, tls=TlsSettings(mode="verify_ca", ca="/etc/ca.pem"))
    assert JdbcSource(login, MYSQL, over_tls=True).options["serverSslCert"] == "/etc/ca.pem"
    assert "serverSslCert" not in JdbcSource(LOGIN, MYSQL).options


@pytest.mark.parametrize(
    ("login", "key"),
    [
        (replace(LOGIN, socket="/run/mysqld.sock"), "server.socket"),
        (
            replace(LOGIN, tls=TlsSettings(mode="required", cert="c.pem", key="k.pem")),
            "server.tls.cert",
        ),
    ],
)
def test_ways_that_the_connector_cannot_go_are_refused(login: Login, key: str) -> None:
    with pytest.raises(SettingsError, match="--consistent") as error:
        JdbcSource(login, MYSQL)
    assert error.value.key == key
