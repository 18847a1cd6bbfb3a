"""The table `ledger/batches`: its columns, and the number that says how a lake is laid out."""

from __future__ import annotations

from typing import Literal

import pyarrow as pa
import pyarrow.compute as pc

from pipeline.errors import SettingsError
from pipeline.lake.delta_log.table import LakeTable
from pipeline.lake.layout import Lake

Layer = Literal["bronze", "silver", "gold", "maintenance"]

PLANNED = "planned"
FINISHED = "finished"

FORMAT = 4
"""Of the lakes that this release makes and reads: another number, or none, is another release's."""

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
    """The lake's."""
    properties = {
        "delta.dataSkippingStatsColumns": ",".join(_STATISTICS),
        # A commit for each row: nobody reads the ledger as it was, and all would be listed.
        "delta.logRetentionDuration": "interval 7 days",
    }
    return LakeTable(lake.ledger("batches"), _SCHEMA, statistics=_STATISTICS, properties=properties)


def require_format(rows: pa.Table, lake: Lake) -> None:
    """Raise SettingsError if another release than this one wrote some of these rows."""
    for found in pc.unique(rows.column("format")).to_pylist():
        if found != FORMAT:
            number = "none" if found is None else found
            raise SettingsError(
                f"{lake.root} was made by another release of Binlake: the format of its ledger is"
                f" {number}, and this release has {FORMAT}.",
                key="lake",
                remedy="Name a new folder under lake, and build the lake again from its binlogs"
                " with binlake run.",
            )
