"""A part's few changes, read from silver and applied to a small gold table without Spark."""

from __future__ import annotations

from functools import partial

import pyarrow as pa

from pipeline.gold.changes.drift import DriftCheck
from pipeline.gold.changes.fold import shape_of
from pipeline.gold.changes.log_facts import Facts
from pipeline.gold.changes.small_batch import changes_here
from pipeline.gold.changes.steps import Rows
from pipeline.gold.local.merge import apply_without_spark
from pipeline.gold.schema.unlogged import defaults_here
from pipeline.gold.table.gold_table import Write
from pipeline.layer import LayerRun


def few_changes(run: LayerRun, part: Rows, facts: Facts) -> pa.Table | None:
    """Return the changes of a part as `changes_here` does; None if there are too many, or only
    Spark can read them."""
    return changes_here(run.spark, run.lake, part, facts, run.settings.type_options)


def apply_few(
    run: LayerRun,
    changes: pa.Table,
    part: Rows,
    write: Write,
    drift_check: DriftCheck | None = None,
) -> int | None:
    """Apply all changes of a part as one step, as `apply_without_spark` does."""
    shape = shape_of(part.definition, part.key)
    defaults = partial(defaults_here, part, run.settings.type_options)
    return apply_without_spark(changes, shape, write, drift_check, defaults=defaults)
