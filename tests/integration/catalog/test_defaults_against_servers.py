"""Each form of a DEFAULT gives rows what the server gives them, or is known not to be understood.

The forms that are refused are listed in `tests/support/catalog/default_refusals`; a form that was a
value and is refused now, or the other way round, fails.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path

import pytest

from tests.support.catalog import default_answers
from tests.support.catalog.default_answers import DefaultAnswer, DefaultForm, DefaultSession, Value
from tests.support.catalog.default_sessions import sessions
from tests.support.servers.server import Server

REFUSALS = Path(default_answers.__file__).parent / "default_refusals"
SERVERS = [("mysql", 160), ("mariadb", 90)]
"""A server, and how many DEFAULTs it takes at least."""


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
def test_a_default_gives_what_the_server_gives_or_is_refused(
    kind: str, at_least: int, request: pytest.FixtureRequest
) -> None:
    server: Server = request.getfixturevalue(kind)
    found = answers(server, sessions(mariadb=kind == "mariadb"))
    assert len({answer.form.default for answer in found}) >= at_least
    assert sum(answer.inserted is not None for answer in found) > len(found) // 2
    assert different(found) == []
    listed = (REFUSALS / f"{kind}.txt").read_text(encoding="utf-8").splitlines()
    assert default_answers.refusals(found) == listed


def test_the_newest_mariadb_takes_defaults_as_the_older_one(newest_mariadb: Server) -> None:
    forms = {session: ones[::12] for session, ones in sessions(mariadb=True).items()}
    found = answers(newest_mariadb, forms)
    assert different(found) == []
    assert sum(answer.existing.refused is None for answer in found) > len(found) // 2
