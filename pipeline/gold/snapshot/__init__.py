"""Published snapshots for readers: their tables by Spark, Polars or Arrow, and copies of them."""

from __future__ import annotations

from typing import TYPE_CHECKING

from decoder.lazy_names import lazy_names

if TYPE_CHECKING:
    from pipeline.gold.snapshot.query_engines import QueryEngine
    from pipeline.gold.snapshot.snapshot import Snapshot, read_snapshot
    from pipeline.gold.snapshot.table_versions import LostSnapshotError

__all__ = ["LostSnapshotError", "QueryEngine", "Snapshot", "copy", "description", "read_snapshot"]

if not TYPE_CHECKING:
    __getattr__ = lazy_names(
        __name__,
        {
            "pipeline.gold.snapshot.query_engines": "QueryEngine",
            "pipeline.gold.snapshot.snapshot": "Snapshot read_snapshot",
            "pipeline.gold.snapshot.table_versions": "LostSnapshotError",
        },
    )
