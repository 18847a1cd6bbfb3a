"""All that is checked, in the order in which it is told."""

from __future__ import annotations

from pipeline.server.check import tables, time_and_names, variables
from pipeline.server.check.facts import ServerFacts
from pipeline.server.check.finding import Check, Finding
from pipeline.server.check.grants import NEEDS
from pipeline.settings import Settings

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
    """What all of them find."""
    return tuple(finding for check in CHECKS for finding in check(facts, settings))
