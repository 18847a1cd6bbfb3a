"""Connections to real servers: TLS modes, authentication plugins, and messages of refusals."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from pydantic import SecretStr

from pipeline.settings.server import TlsSettings
from pipeline.source.server.connection import connect
from pipeline.source.server.errors import AccessDeniedError, ServerUnreachableError, TlsError
from pipeline.source.server.login import Login
from pipeline.source.server.version import server_version
from tests.support.servers.certificates import Certificates, certificates
from tests.support.servers.mariadb import MariaDBFactory, MariaDBServer, NewestMariaDBServer
from tests.support.servers.mysql import MySQLFactory, MySQLServer
from tests.support.servers.server import Server, free_port

PASSWORD = "pässwörd €"


@pytest.fixture(scope="module")
def own(tmp_path_factory: pytest.TempPathFactory) -> Certificates:
    return certificates(tmp_path_factory.mktemp("own"))


@pytest.fixture(scope="module")
def others(tmp_path_factory: pytest.TempPathFactory) -> Certificates:
    """Return the certificates of a CA that has signed nothing here."""
    return certificates(tmp_path_factory.mktemp("others"))


@pytest.fixture(scope="module")
def server(mysql_factory: MySQLFactory) -> MySQLServer:
    """Return MySQL with its automatically generated certificates."""
    return mysql_factory()


@pytest.fixture(scope="module")
def certified(mysql_factory: MySQLFactory, own: Certificates) -> MySQLServer:
    return mysql_factory(*own.options)


@pytest.fixture(scope="module")
def certified_mariadb(mariadb_factory: MariaDBFactory, own: Certificates) -> MariaDBServer:
    return mariadb_factory(*own.options)


@pytest.fixture(scope="module")
def plain(mysql_factory: MySQLFactory) -> MySQLServer:
    """Return MySQL without TLS."""
    return mysql_factory("--tls-version=")


def login(server: Server, password: str = PASSWORD, **tls: Any) -> Login:
    """Return a login as `reader`, created again: the server has no cached password for it."""
    server.execute("DROP USER IF EXISTS reader")
    server.execute("CREATE USER reader IDENTIFIED BY %s", [PASSWORD])
    return Login(
        "127.0.0.1",
        "reader",
        server.port,
        password=SecretStr(password),
        tls=TlsSettings.model_validate(tls),
    )


def is_encrypted(who: Login) -> bool:
    with connect(who) as connection, connection.cursor() as cursor:
        cursor.execute("SHOW SESSION STATUS LIKE 'Ssl_cipher'")
        ((_, cipher),) = cursor.fetchall()
    return bool(cipher)


@pytest.mark.parametrize(
    ("mode", "encrypted"), [("disabled", False), ("preferred", True), ("required", True)]
)
def test_tls_modes(server: MySQLServer, mode: str, encrypted: bool) -> None:
    # Each with an empty cache: caching_sha2_password sends the password over TLS, and under the
    # server's public key without.
    assert is_encrypted(login(server, mode=mode)) is encrypted


def test_the_servers_own_ca_is_verified(server: MySQLServer) -> None:
    ca = str(server.folder / "data" / "ca.pem")
    assert is_encrypted(login(server, mode="verify_ca", ca=ca))
    with pytest.raises(TlsError, match=r"the TLS handshake failed: .*match"):
        connect(login(server, mode="verify_identity", ca=ca))


def test_a_certificate_of_another_ca_is_refused(server: MySQLServer, others: Certificates) -> None:
    for mode in ("verify_ca", "verify_identity"):
        with pytest.raises(TlsError, match=r"certificate.* Check server\.tls\.mode, and server"):
            connect(login(server, mode=mode, ca=str(others.ca)))


@pytest.mark.parametrize("which", ["certified", "certified_mariadb"])
def test_a_certificate_that_names_the_host_is_accepted(
    request: pytest.FixtureRequest, which: str, own: Certificates, others: Certificates
) -> None:
    server: Server = request.getfixturevalue(which)
    assert is_encrypted(login(server, mode="verify_identity", ca=str(own.ca)))
    assert is_encrypted(login(server, mode="preferred"))
    with pytest.raises(TlsError):
        connect(login(server, mode="verify_ca", ca=str(others.ca)))


def test_a_client_certificate_is_sent_if_the_server_requires_it(
    certified: MySQLServer, own: Certificates
) -> None:
    who = login(certified, mode="required", cert=str(own.cert), key=str(own.key))
    certified.execute("ALTER USER reader REQUIRE X509")
    assert is_encrypted(who)


@pytest.mark.parametrize("which", ["plain", "mariadb"])
def test_a_server_without_tls_is_used_only_if_allowed(
    request: pytest.FixtureRequest, which: str
) -> None:
    server: Server = request.getfixturevalue(which)
    assert not is_encrypted(login(server, mode="preferred"))
    for mode in ("required", "verify_ca", "verify_identity"):
        with pytest.raises(TlsError):
            connect(login(server, mode=mode))


def test_the_newest_mariadb_has_tls_by_default(newest_mariadb: NewestMariaDBServer) -> None:
    who = login(newest_mariadb, mode="preferred")
    assert is_encrypted(who)
    # Its certificate is its own, of no authority.
    assert is_encrypted(replace(who, tls=TlsSettings(mode="required")))
    with pytest.raises(TlsError):
        connect(replace(who, tls=TlsSettings(mode="verify_ca")))
    newest_mariadb.execute("DROP USER reader")


def test_a_server_that_requires_tls_is_reported(server: MySQLServer) -> None:
    who = login(server, mode="disabled")
    server.execute("SET GLOBAL require_secure_transport = ON")
    try:
        with pytest.raises(TlsError, match=r"Set server\.tls\.mode to required"):
            connect(who)
    finally:
        server.execute("SET GLOBAL require_secure_transport = OFF")


@pytest.mark.parametrize("which", ["server", "mariadb"])
@pytest.mark.parametrize("wrong", ["", "not the passw0rd"])
def test_a_wrong_password_is_denied_and_not_shown(
    request: pytest.FixtureRequest, which: str, wrong: str
) -> None:
    server: Server = request.getfixturevalue(which)
    with pytest.raises(AccessDeniedError, match="Check the password") as error:
        connect(login(server, password=wrong))
    assert f"reader at 127.0.0.1:{server.port}" in str(error.value)
    if wrong:
        assert wrong not in f"{error.value}{error.value!r}"
    assert not error.value.retryable


def test_a_refused_connection_is_reported_with_the_address() -> None:
    port = free_port()
    with pytest.raises(ServerUnreachableError, match=f"reader at 127.0.0.1:{port}: cannot connect"):
        connect(Login("127.0.0.1", "reader", port))


def test_an_unknown_host_is_unreachable() -> None:
    with pytest.raises(ServerUnreachableError, match=r"reader at no\.such\.invalid:3306"):
        connect(Login("no.such.invalid", "reader"))


@pytest.mark.parametrize("which", ["server", "plain", "mariadb"])
def test_a_socket_is_used_if_given(request: pytest.FixtureRequest, which: str) -> None:
    server: Server = request.getfixturevalue(which)
    login(server)
    who = Login("localhost", "reader", 1, socket=str(server.socket), password=SecretStr(PASSWORD))
    with connect(who) as connection, connection.cursor() as cursor:
        cursor.execute("SELECT @@character_set_client, @@autocommit")
        assert cursor.fetchall() == (("utf8mb4", 1),)


def test_a_missing_socket_is_reported(tmp_path: Path) -> None:
    socket = str(tmp_path / "mysqld.sock")
    with pytest.raises(ServerUnreachableError, match=f"reader at {socket}: cannot connect"):
        connect(Login("localhost", "reader", socket=socket))


@pytest.mark.parametrize(("which", "is_mariadb"), [("server", False), ("mariadb", True)])
def test_the_version_is_the_servers(
    request: pytest.FixtureRequest, which: str, is_mariadb: bool
) -> None:
    server: Server = request.getfixturevalue(which)
    ((text,),) = server.execute("SELECT VERSION()")
    with connect(login(server)) as connection:
        version = server_version(connection)
    assert (version.text, version.is_mariadb) == (text, is_mariadb)
    assert version.number >= ((10, 11, 0) if is_mariadb else (9, 0, 0))
