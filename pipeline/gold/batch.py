"""Carrying out one plan of gold: every table that it touches, then the cut, then the record."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping
from concurrent.futures import ThreadPoolExecutor
from typing import Any

from pyspark.sql import SparkSession

from pipeline.catalog.effects import TableName
from pipeline.catalog.items import TimelineItem
from pipeline.gold.apply import Batch, apply_table
from pipeline.gold.changes import skipped
from pipeline.gold.cut import publish
from pipeline.gold.planning import new_transactions, timeline
from pipeline.gold.state import GoldState, TableState
from pipeline.ledger import Ledger, Plan
from pipeline.progress import Progress
from pipeline.settings import Settings


def execute(
    spark: SparkSession, settings: Settings, ledger: Ledger, plan: Plan, progress: Progress
) -> dict[str, int]:
    """Do all that the plan says and record it; changes applied, by `schema.table`."""
    state = GoldState.from_body(plan.body)
    touched = [table for table in state.tables.values() if table.touched]
    batch = Batch(plan.batch, state.drop_rows, _skipped(spark, settings, touched))
    items = _by_table(timeline(spark, settings)) if touched else {}

    with progress.task("apply", len(touched), "tables") as task:

        def apply(table: TableState) -> int:
            applied = apply_table(spark, settings, batch, table, items.get(table.name, []))
            task.advance()
            return applied

        with ThreadPoolExecutor(settings.parallel_tables) as pool:
            counts = list(pool.map(apply, touched))
    applied = {str(table.name): count for table, count in zip(touched, counts, strict=True)}
    last = GoldState.from_body(previous.body) if (previous := ledger.last("gold")) else GoldState()
    publish(
        spark,
        settings,
        state,
        new_transactions(spark, settings, last.cut_lsn, state.cut_lsn),
        plan.batch,
    )
    record: Mapping[str, Any] = {"changes": applied, "held": state.held()}
    ledger.finish(plan, dict(record))
    return applied


def _skipped(spark: SparkSession, settings: Settings, touched: list[TableState]) -> list[Any]:
    if not touched:
        return []
    low = min(table.from_lsn for table in touched)
    high = max(table.to_lsn for table in touched)
    rows = new_transactions(spark, settings, low, high)
    return [] if rows is None else skipped(rows)


def _by_table(items: list[TimelineItem]) -> dict[TableName, list[TimelineItem]]:
    found: dict[TableName, list[TimelineItem]] = defaultdict(list)
    for item in items:
        found[item.name].append(item)
    return found
