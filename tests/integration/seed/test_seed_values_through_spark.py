"""Values stay complete in the query that Spark wraps around the seed's own: a derived table."""

from __future__ import annotations

import pytest

from tests.support.seed.seed_rows import assert_whole_through_spark
from tests.support.servers.server import Server
from tests.support.zoo import type_zoo
from tests.support.zoo.zoo_rows import inserted, log_of


@pytest.mark.parametrize("fixture", ["mysql", "mariadb", "newest_mariadb"])
def test_values_are_not_truncated_by_sparks_query(
    request: pytest.FixtureRequest, fixture: str
) -> None:
    server: Server = request.getfixturevalue(fixture)
    tables = [type_zoo.decimals(), type_zoo.floats(), type_zoo.text(), type_zoo.labels()]
    for definition, _ in inserted(log_of(server, tables)).values():
        assert_whole_through_spark(server, definition)
