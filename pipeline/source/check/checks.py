"""All checks, in the order of the report."""

from __future__ import annotations

from pipeline.settings import Settings
from pipeline.source.check import tables, time_and_names, variables
from pipeline.source.check.facts import ServerFacts
from pipeline.source.check.finding import Check, Finding
from pipeline.source.check.grants import NEEDS

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
    time_and_names.log_filter,
    time_and_names.lower_case_table_names,
    time_and_names.system_time_zone,
    tables.seen,
    tables.foreign_keys,
    tables.keys,
    tables.engines,
    tables.kinds,
    *NEEDS,
)


def findings(facts: ServerFacts, settings: Settings) -> tuple[Finding, ...]:
    """Return the findings of all checks."""
    return tuple(finding for check in CHECKS for finding in check(facts, settings))
