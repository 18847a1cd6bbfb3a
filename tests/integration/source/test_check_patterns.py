"""`binlake check` for users with exactly the grants that conf's patterns need, on real servers."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from pydantic import SecretStr

from pipeline.settings import Settings
from pipeline.source.check.run import check_with
from pipeline.source.server.login import Login
from tests.support.servers.server import Server

PASSWORD = "unheard-of-password"
SCHEMAS = ("shop_a", "shop_b")


@pytest.fixture(scope="module", params=["mysql_factory", "mariadb_factory"])
def source(request: pytest.FixtureRequest) -> Server:
    factory: Callable[[], Server] = request.getfixturevalue(request.param)
    server = factory()
    for schema in SCHEMAS:
        server.execute(f"CREATE DATABASE {schema}")
        for table in ("orders", "parts"):
            server.execute(f"CREATE TABLE {schema}.{table} (id INT PRIMARY KEY)")
    return server


@pytest.mark.parametrize(
    ("grants", "include", "verdict"),
    [
        ([r"`shop\_%`.*"], "shop_*.*", "ok"),
        (["`shop_a`.*", "`shop_b`.*"], "shop_*.*", "advice"),
        (["`shop_a`.`orders`", "`shop_b`.`orders`"], "*.orders", "advice"),
        (["`shop_a`.`orders`"], "shop_a.ord*", "advice"),
        (["`shop_a`.`orders`"], "shop_a.parts", "problem"),
        ([], "shop_*.*", "problem"),
    ],
)
def test_grants_are_checked_by_pattern(
    source: Server, grants: list[str], include: str, verdict: str
) -> None:
    source.execute("DROP USER IF EXISTS reader")
    source.execute("CREATE USER reader IDENTIFIED BY %s", [PASSWORD])
    for place in grants:
        source.execute(f"GRANT SELECT ON {place} TO reader")
    who = Login("127.0.0.1", "reader", source.port, password=SecretStr(PASSWORD))
    report = check_with(who, Settings.load(include=[include]))
    (found,) = (found for found in report.findings if found.check == "grant SELECT")
    assert found.verdict == verdict
