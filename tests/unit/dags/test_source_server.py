"""The source server in a task's environment, and its password masked in logs."""

from __future__ import annotations

from typing import Any

import pytest
from airflow.sdk import Connection
from airflow.sdk.exceptions import AirflowFailException
from airflow.sdk.log import mask_logs
from hypothesis import example, given, strategies as st

from binlake_airflow.operators.source_server import VARIABLE, server_environment
from pipeline.settings.server import ServerUrl
from pipeline.source.server.login import URL_VARIABLE


def made(connection: dict[str, Any]) -> dict[str, str]:
    """Return the environment for a connection of Airflow."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(Connection, "get", lambda name: Connection(conn_id=name, **connection))
        return server_environment("shop_db")


def test_without_a_connection_the_environment_is_unchanged() -> None:
    assert server_environment(None) == {}
    assert VARIABLE == URL_VARIABLE


@pytest.mark.parametrize(
    ("connection", "url"),
    [
        ({"conn_type": "mysql", "host": "db"}, "mysql://db"),
        (
            {"conn_type": "generic", "host": "::1", "port": 3307, "login": "me"},
            "mysql://me@[::1]:3307",
        ),
        (
            {
                "conn_type": "mysql",
                "host": "db",
                "login": "me",
                "password": "a:b/c@d",
                "schema": "shop",
                "extra": '{"ssl": {"ca": "x"}}',
            },
            "mysql://me:a%3Ab%2Fc%40d@db",
        ),
    ],
)
def test_a_connection_becomes_a_url(connection: dict[str, Any], url: str) -> None:
    assert made(connection) == {VARIABLE: url}


@given(login=st.text(), password=st.text(), port=st.integers(1, 65535))
@example(login="repl@%", password="#?/:@%25 ☃", port=3306)
def test_binlake_parses_the_url_back(login: str, password: str, port: int) -> None:
    connection = {"host": "db.example.com", "login": login, "password": password, "port": port}
    url = ServerUrl.read(made({"conn_type": "mysql", **connection})[VARIABLE])
    assert (url.host, url.port, url.user or "") == ("db.example.com", port, login)
    assert (url.password.get_secret_value() if url.password else "") == password


def test_a_connection_without_a_host_fails_without_a_retry() -> None:
    with pytest.raises(AirflowFailException, match="connection shop_db has no host"):
        made({"conn_type": "mysql", "login": "me"})


def test_airflow_masks_the_password_in_logs_also_percent_encoded() -> None:
    environment = made(
        {"conn_type": "mysql", "host": "db", "login": "me", "password": "un/pronounced"}
    )
    line = {"event": f"as {environment[VARIABLE]}, password un/pronounced"}
    assert mask_logs(None, "info", line) == {"event": "as mysql://me:***@db, password ***"}
