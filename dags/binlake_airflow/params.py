"""What may be said when a DAG is triggered, and how a task's options take it."""

from __future__ import annotations

from airflow.sdk import Param

PLACE = (
    r"^(\d+|\d{4}-\d{2}-\d{2}([T ].*)?"
    r"|[0-9A-Fa-f]{8}(-[0-9A-Fa-f]{4}){3}-[0-9A-Fa-f]{12}(:[A-Za-z_][A-Za-z0-9_]*)?:\d+"
    r"|\d+-\d+-\d+|[^:/]+\.\d+:\d+)$"
)
"""The forms that `pipeline.settings.until` reads: others are refused before anything is done."""

UNTIL = Param(
    None,
    type=["null", "string"],
    pattern=PLACE,
    title="Until",
    description_md="Gold stops there: a time (`2026-11-22T10:00:00Z`), a GTID, `FILE:POSITION`, or"
    " an LSN. The next run without it goes on from there.",
)
FULL_REFRESH = Param(
    False,
    type="boolean",
    title="Full refresh",
    description_md="Decode and apply everything anew from bronze, instead of only what is new.",
)
DRY_RUN = Param(
    False,
    type="boolean",
    title="Dry run",
    description_md="Only say what would be removed and laid out anew, and why no more.",
)
BINLOGS = Param(
    [],
    type="array",
    items={"type": "string", "minLength": 1},
    minItems=1,
    title="Binlogs",
    description_md="Files, folders or globs, which are taken in together, in the log's order. Such"
    " as `/archive/2026-01/` and `/archive/2026-02/`.",
)
SINCE = Param(
    None,
    type=["null", "string"],
    format="date-time",
    title="Since",
    description_md="With *every*: when the first step begins.",
)
EVERY = Param(
    None,
    type=["null", "integer"],
    minimum=1,
    title="Every (hours)",
    description_md="Gold goes from *since* to *until* in steps of so many hours, and publishes a"
    " cut at each. Without it, in one.",
)

UNTIL_OPTION = {"--until": "{{ params.until or '' }}"}
LOOKED_FOR_OPTION = {"--until": "{{ params.full_refresh and params.until or '' }}"}
"""Of silver, which decodes the whole lake anew: only if gold can stop there."""
FULL_REFRESH_OPTION = {"--full-refresh": "{{ params.full_refresh }}"}
DRY_RUN_OPTION = {"--dry-run": "{{ params.dry_run }}"}
