"""Deletion vectors in small gold tables, which only larger ones have."""

from __future__ import annotations

import pytest

from pipeline.gold.apply import apply
from pipeline.gold.changes.small_batch import ON_SMALL_TABLES


def give_deletion_vectors(patch: pytest.MonkeyPatch) -> None:
    """Let gold delete rows of small files by deletion vectors instead of rewriting the files: few
    changes are left to Spark, and Spark treats all tables as large."""
    patch.setattr(apply, "apply_few", lambda *_, **__: None)
    patch.setitem(
        ON_SMALL_TABLES, "spark.databricks.delta.merge.deletionVectors.persistent", "true"
    )
