"""Checking a server: query its facts once, and judge them by the settings."""

from __future__ import annotations

from pipeline.settings import Settings
from pipeline.source.check import tables, variables
from pipeline.source.check.facts import ServerFacts, read_facts
from pipeline.source.check.finding import Check, Finding
from pipeline.source.check.needed_privileges import NEEDS
from pipeline.source.check.report import CheckReport
from pipeline.source.server.connection import connect, explained_errors
from pipeline.source.server.login import Login, login

READ_SECONDS = 600
"""Read timeout; MySQL 5.7's information_schema opens the files of every table."""

CHECKS: tuple[Check, ...] = (
    variables.log_bin,
    variables.storage_engine,
    variables.server_id,
    variables.VALUES[0],
    variables.row_image,
    variables.row_metadata,
    *variables.VALUES[1:],
    variables.gtid_mode,
    variables.retention,
    variables.compression,
    variables.encryption,
    variables.log_filter,
    variables.lower_case_table_names,
    variables.system_time_zone,
    tables.seen,
    tables.foreign_keys,
    tables.keys,
    tables.engines,
    tables.kinds,
    *NEEDS,
)
"""All checks, in the order of the report."""


def check_server(settings: Settings) -> CheckReport:
    """Check the server that the settings name; raises as `login` and `server_facts`."""
    return check_with(login(settings), settings)


def check_with(who: Login, settings: Settings) -> CheckReport:
    """Check the server with this login and return the report; raises as `server_facts`."""
    facts = server_facts(who)
    return CheckReport(
        server=facts.version.name,
        address=who.address,
        user=facts.user,
        findings=findings(facts, settings),
    )


def server_facts(who: Login) -> ServerFacts:
    """Query all facts that checks judge. Raises what `connect` and `explained_errors` raise."""
    with connect(who, read_timeout=READ_SECONDS) as connection, explained_errors(who):
        return read_facts(connection)


def findings(facts: ServerFacts, settings: Settings) -> tuple[Finding, ...]:
    """Return the findings of all checks."""
    return tuple(finding for check in CHECKS for finding in check(facts, settings))
