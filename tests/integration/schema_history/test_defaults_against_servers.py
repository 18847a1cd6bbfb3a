"""Each form of DEFAULT yields the server's value in gold, or is refused.

The refused forms are listed in `tests/support/schema_history/default_refusals`; the tests fail if a
form moves into or out of this list.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path

import pytest

from tests.support.schema_history import default_answers
from tests.support.schema_history.default_answers import (
    DefaultAnswer,
    DefaultForm,
    DefaultSession,
    Value,
)
from tests.support.schema_history.default_sessions import sessions
from tests.support.servers.server import Server

REFUSALS = Path(default_answers.__file__).parent / "default_refusals"
SERVERS = [("mysql", 160), ("mariadb", 90)]
"""A server, and the minimum number of DEFAULTs that it accepts."""


def answers(
    server: Server, forms: Mapping[DefaultSession, Sequence[DefaultForm]]
) -> list[DefaultAnswer]:
    found = default_answers.answers(server, forms)
    server.execute(f"DROP DATABASE {default_answers.SCHEMA}")
    return found


def different(found: Sequence[DefaultAnswer]) -> list[tuple[str, str, Value]]:
    return [
        (answer.session, answer.form.declared, value)
        for answer in found
        for value in (answer.existing, answer.inserted)
        if value is not None and value.differs
    ]


@pytest.mark.parametrize(("kind", "at_least"), SERVERS)
def test_a_default_yields_the_servers_value_or_is_refused(
    kind: str, at_least: int, request: pytest.FixtureRequest
) -> None:
    server: Server = request.getfixturevalue(kind)
    found = answers(server, sessions(mariadb=kind == "mariadb"))
    assert len({answer.form.default for answer in found}) >= at_least
    assert sum(answer.inserted is not None for answer in found) > len(found) // 2
    assert different(found) == []
    listed = (REFUSALS / f"{kind}.txt").read_text(encoding="utf-8").splitlines()
    assert default_answers.refusals(found) == listed


def test_the_newest_mariadb_treats_defaults_like_the_older_one(newest_mariadb: Server) -> None:
    forms = {session: ones[::12] for session, ones in sessions(mariadb=True).items()}
    found = answers(newest_mariadb, forms)
    assert different(found) == []
    assert sum(answer.existing.refused is None for answer in found) > len(found) // 2
