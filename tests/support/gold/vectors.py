"""Deletion vectors in small gold tables, which only larger ones have."""

from __future__ import annotations

import pyarrow as pa
import pytest

from pipeline.gold.apply import apply
from pipeline.gold.apply.merge import apply_few
from pipeline.gold.changes.drift import DriftCheck
from pipeline.gold.changes.small_batch import ON_SMALL_TABLES
from pipeline.gold.changes.steps import Rows
from pipeline.gold.table.gold_table import Write
from pipeline.layer import LayerRun


def give_deletion_vectors(patch: pytest.MonkeyPatch, *, table: str | None = None) -> None:
    """Let gold delete rows of small files by deletion vectors instead of rewriting the files: few
    changes, of one table if given, are left to Spark, and Spark treats all tables as large."""

    def few_of_others(
        run: LayerRun, changes: pa.Table, part: Rows, write: Write, *drift: DriftCheck | None
    ) -> int | None:
        left = table is None or write.table == run.lake.gold("shop", table)
        return None if left else apply_few(run, changes, part, write, *drift)

    patch.setattr(apply, "apply_few", few_of_others)
    patch.setitem(
        ON_SMALL_TABLES, "spark.databricks.delta.merge.deletionVectors.persistent", "true"
    )
