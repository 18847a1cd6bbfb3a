"""The table `ledger/batches`: its columns, and the number of the lake's format."""

from __future__ import annotations

from typing import Literal

import pyarrow as pa
import pyarrow.compute as pc

from pipeline.errors import SettingsError
from pipeline.lake.delta_log.model import LakeTable
from pipeline.lake.layout import Lake

Layer = Literal["bronze", "silver", "gold", "maintenance"]

PLANNED = "planned"
FINISHED = "finished"

FORMAT = 8
"""The format of lakes that this release writes and reads; any other is another release's."""

_SCHEMA = pa.schema(
    [
        pa.field("source", pa.string()),
        pa.field("layer", pa.string()),
        pa.field("batch", pa.int64()),
        # planned | finished
        pa.field("state", pa.string()),
        # JSON: what to do (planned), what was done (finished)
        pa.field("body", pa.string()),
        # JSON: the full refresh that a plan of silver begins, as in its body; else null
        pa.field("begins", pa.string()),
        pa.field("run_id", pa.string()),
        pa.field("at", pa.timestamp("us", "UTC")),
        # FORMAT
        pa.field("format", pa.int64()),
    ]
)
_STATISTICS = ("source", "layer", "batch", "state", "begins")


def batches(lake: Lake) -> LakeTable:
    """Return the table of the lake's batches."""
    properties = {
        "delta.dataSkippingStatsColumns": ",".join(_STATISTICS),
        # Each row is a commit, every reader lists all commits, and nobody needs old versions.
        "delta.logRetentionDuration": "interval 7 days",
    }
    return LakeTable(lake.ledger("batches"), _SCHEMA, statistics=_STATISTICS, properties=properties)


def require_format(rows: pa.Table, lake: Lake) -> None:
    """Raise SettingsError if any of the rows has another release's format."""
    for found in pc.unique(rows.column("format")).to_pylist():
        if found != FORMAT:
            number = "missing" if found is None else found
            raise SettingsError(
                f"{lake.root} was written by another release of Binlake: the format of its ledger"
                f" is {number}, and this release supports only {FORMAT}.",
                key="lake",
                remedy="Set lake to a new folder, and build the lake again from its binlogs with"
                " binlake run.",
            )
