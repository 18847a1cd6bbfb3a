"""The check of a server: asked once, judged by what conf says."""

from __future__ import annotations

from pipeline.settings import Settings
from pipeline.source.check.checks import findings
from pipeline.source.check.reading import read_facts
from pipeline.source.check.report import CheckReport
from pipeline.source.server.connection import asked, connect
from pipeline.source.server.login import Login

READ_SECONDS = 600
"""MySQL 5.7 opens the files of every table to tell of them."""


def check_server(login: Login, settings: Settings) -> CheckReport:
    """What is fit, and what to change. Raises what `connect` and `asked` raise."""
    with connect(login, read_timeout=READ_SECONDS) as connection, asked(login):
        facts = read_facts(connection)
    return CheckReport(
        server=facts.version.name,
        address=login.address,
        user=facts.user,
        findings=findings(facts, settings),
    )
