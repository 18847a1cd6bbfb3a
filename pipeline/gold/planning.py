"""The next batch of gold, from what the lake holds: silver's cut, the timeline, open faults."""

from __future__ import annotations

from dataclasses import dataclass

from pyspark.sql import DataFrame, SparkSession

from pipeline import delta
from pipeline.catalog.definitions import read_items
from pipeline.catalog.items import TimelineItem
from pipeline.gold.blocks import Fault, Rules
from pipeline.gold.changes import changed_tables, transactions, undecided
from pipeline.gold.faults import open_faults
from pipeline.gold.plan import Known, plan_batch, same, touch
from pipeline.gold.state import GoldState
from pipeline.lake import Lake
from pipeline.ledger import Ledger
from pipeline.settings import Settings


@dataclass(frozen=True, slots=True)
class Planned:
    """The state that gold has, and the one that the next batch brings (None: nothing to do)."""

    previous: GoldState
    following: GoldState | None


def rules(settings: Settings) -> Rules:
    """What conf says about tables."""
    return Rules(
        keys=settings.keys,
        types=settings.type_options,
        mark_faults=settings.on_fault == "mark",
        drop_rows=settings.on_drop == "drop",
    )


def plan_next(spark: SparkSession, settings: Settings, ledger: Ledger) -> Planned:
    """Look at the lake and decide."""
    last = ledger.last("gold")
    previous = GoldState.from_body(last.body) if last else GoldState()
    silver = ledger.last("silver")
    if silver is None:
        return Planned(previous, None)
    cut = silver.body["cut_lsn"]
    lake = Lake(settings.lake)
    known = Known(
        silver.batch,
        cut,
        timeline(spark, settings),
        [
            *open_faults(spark, lake, settings.source),
            *_undecided(spark, settings, previous, cut),
        ],
    )
    state = plan_batch(previous, known, rules(settings), settings.wanted)
    if same(previous, state):
        return Planned(previous, None)
    new = new_transactions(spark, settings, previous.cut_lsn, state.cut_lsn)
    changed = changed_tables(new) if new is not None else {}
    return Planned(previous, touch(state, changed, previous.cut_lsn))


def timeline(spark: SparkSession, settings: Settings) -> list[TimelineItem]:
    """Every table's definitions over time, in the order of the log."""
    items = read_items(spark, Lake(settings.lake), settings.source)
    # What `retry` took up was written late.
    return sorted(items, key=lambda item: item.position)


def new_transactions(
    spark: SparkSession, settings: Settings, low: int, high: int
) -> DataFrame | None:
    """Silver's transactions in (`low`, `high`], or None where there can be none."""
    lake = Lake(settings.lake)
    if low >= high or not delta.exists(spark, lake.transactions):
        return None
    return transactions(spark, lake, settings.source, low, high)


def _undecided(
    spark: SparkSession, settings: Settings, previous: GoldState, cut: int
) -> list[Fault]:
    """Transactions that no table may go past, from where the first table waits."""
    waiting = [table.to_lsn for table in previous.tables.values() if table.held]
    rows = new_transactions(spark, settings, min([previous.cut_lsn, *waiting]), cut)
    return [] if rows is None else undecided(rows)
