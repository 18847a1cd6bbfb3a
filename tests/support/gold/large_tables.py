"""Chosen gold tables whose changes and initial snapshots Spark applies, as those of large ones."""

from __future__ import annotations

from collections.abc import Collection
from typing import Any

import pyarrow as pa
import pytest

from decoder import TableDefinition, TypeOptions
from pipeline.gold.apply import apply, seed_rows
from pipeline.gold.changes.log_facts import Facts
from pipeline.gold.changes.small_batch import Few, changes_here, few_of
from pipeline.gold.changes.steps import Rows
from pipeline.gold.local.seed import load_without_spark
from pipeline.gold.table.gold_table import Write
from pipeline.lake import Lake
from pipeline.lake.lazy_spark import Spark


def apply_by_spark(patch: pytest.MonkeyPatch, names: Collection[str]) -> None:
    """Treat the tables of these names as large, and all others as they are."""

    def read(
        spark: Spark, lake: Lake, part: Rows, facts: Facts, types: TypeOptions
    ) -> pa.Table | None:
        left = part.definition.table in names
        return None if left else changes_here(spark, lake, part, facts, types)

    def few(found: Few | None, definition: TableDefinition) -> Few | None:
        return None if definition.table in names else few_of(found, definition)

    def loaded(spark: Spark, write: Write, *found: Any, **options: Any) -> bool:
        if write.table.rpartition("/")[2] in names:
            return False
        return load_without_spark(spark, write, *found, **options)

    patch.setattr(apply, "changes_here", read)
    patch.setattr(seed_rows, "changes_here", read)
    patch.setattr(apply, "few_of", few)
    patch.setattr(seed_rows, "load_without_spark", loaded)
