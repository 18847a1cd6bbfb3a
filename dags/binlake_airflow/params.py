"""Parameters of manually triggered DAGs, and the task options that are rendered from them."""

from __future__ import annotations

from airflow.sdk import Param

POSITION = (
    r"^(\d+|\d{4}-\d{2}-\d{2}([T ].*)?"
    r"|[0-9A-Fa-f]{8}(-[0-9A-Fa-f]{4}){3}-[0-9A-Fa-f]{12}(:[A-Za-z_][A-Za-z0-9_]*)?:\d+"
    r"|\d+-\d+-\d+|[^:/]+\.\d+:\d+)$"
)
"""The forms that `pipeline.settings.until` reads: Airflow refuses others at the trigger."""

UNTIL = Param(
    None,
    type=["null", "string"],
    pattern=POSITION,
    title="Until",
    description_md="Where gold stops: a time (**2026-11-22T10:00:00Z**), a GTID, **FILE:POSITION**,"
    " or an LSN. The next run without it continues from there.",
)
FULL_REFRESH = Param(
    False,
    type="boolean",
    title="Full refresh",
    description_md="Rebuild silver and gold from bronze, instead of only applying new changes.",
)
DRY_RUN = Param(
    False,
    type="boolean",
    title="Dry run",
    description_md="Only log what would be removed and compacted, and what blocks the rest.",
)
BINLOGS = Param(
    [],
    type="array",
    items={"type": "string", "minLength": 1},
    minItems=1,
    title="Binlogs",
    description_md="Files, folders or globs, such as **/archive/2026-01/** and"
    " **/archive/2026-02/**. All are ingested together, in the log's order.",
)
SINCE = Param(
    None,
    type=["null", "string"],
    format="date-time",
    title="Since",
    description_md="With **every**: the time at which the first step begins.",
)
EVERY = Param(
    None,
    type=["null", "integer"],
    minimum=1,
    title="Every (hours)",
    description_md="Apply **since** to **until** in steps of this many hours; gold publishes a"
    " consistent snapshot after each. Without it, in one step.",
)

UNTIL_OPTION = {"--until": "{{ params.until or '' }}"}
CHECKED_UNTIL_OPTION = {"--until": "{{ params.full_refresh and params.until or '' }}"}
"""Silver's, for a full refresh: it fails before decoding anything if gold cannot stop there."""
FULL_REFRESH_OPTION = {"--full-refresh": "{{ params.full_refresh }}"}
DRY_RUN_OPTION = {"--dry-run": "{{ params.dry_run }}"}
