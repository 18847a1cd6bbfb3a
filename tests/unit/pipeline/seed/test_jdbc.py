"""The options of Spark's JDBC source: TLS, session variables, and no visible password."""

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


def test_the_password_is_only_in_its_own_option() -> None:
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
def test_the_url_has_the_host_and_port(host: str, url: str) -> None:
    assert JdbcSource(replace(LOGIN, host=host), MYSQL).options["url"] == url


@pytest.mark.parametrize(
    ("version", "limit"), [(MYSQL, "max_execution_time"), (MARIADB, "max_statement_time")]
)
def test_a_session_has_no_time_limit_for_statements(version: ServerVersion, limit: str) -> None:
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
def test_a_session_sets_only_variables_of_its_server_version(
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
def test_the_tls_mode_follows_the_settings(mode: TlsMode, over_tls: bool, expected: str) -> None:
    login = replace(LOGIN, tls=TlsSettings(mode=mode))
    assert JdbcSource(login, MYSQL, over_tls).options["sslMode"] == expected


def test_the_connector_gets_the_certificate_authority() -> None:
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
def test_settings_that_the_connector_does_not_support_are_refused(login: Login, key: str) -> None:
    with pytest.raises(SettingsError, match="--consistent") as error:
        JdbcSource(login, MYSQL)
    assert error.value.key == key
