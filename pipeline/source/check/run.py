"""Checking a server: query its facts once, and judge them by the settings."""

from __future__ import annotations

from pipeline.settings import Settings
from pipeline.source.check.checks import findings
from pipeline.source.check.reading import read_facts
from pipeline.source.check.report import CheckReport
from pipeline.source.server.connection import asked, connect
from pipeline.source.server.login import Login

READ_SECONDS = 600
"""Read timeout; MySQL 5.7's information_schema opens the files of every table."""


def check_server(login: Login, settings: Settings) -> CheckReport:
    """Check the server and return the report. Raises what `connect` and `asked` raise."""
    with connect(login, read_timeout=READ_SECONDS) as connection, asked(login):
        facts = read_facts(connection)
    return CheckReport(
        server=facts.version.name,
        address=login.address,
        user=facts.user,
        findings=findings(facts, settings),
    )
