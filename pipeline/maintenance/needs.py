"""Find what of a source's history is still needed, from the ledger, quarantine and timeline."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta

from pipeline.bronze import read_files
from pipeline.bronze.tables import FileRow
from pipeline.catalog.alter.items import in_force
from pipeline.catalog.timeline.definitions import read_items
from pipeline.gold import GoldState
from pipeline.gold.plan.rebuild import refresh_under_way
from pipeline.lake import Ledger
from pipeline.lake.ledger.ledger_table import FINISHED
from pipeline.lake.starting import Spark
from pipeline.maintenance.limits import FROM_START, Need, first_young
from pipeline.settings import Settings
from pipeline.silver.decode.segments import lsn_of
from pipeline.silver.plan.batch_plan import SilverPlan
from pipeline.silver.plan.late_names import unnamed
from pipeline.silver.plan.seeds import seed_ids
from pipeline.silver.plan.take_seeds import waiting
from pipeline.silver.tables.quarantine import retryable


@dataclass(frozen=True, slots=True)
class Needs:
    """A source's files, the needs that keep its silver and bronze, and its files with faults."""

    files: tuple[FileRow, ...]
    silver: tuple[Need, ...]
    bronze: tuple[Need, ...]
    faulty: frozenset[int]


def find_needs(
    spark: Spark, settings: Settings, ledger: Ledger, finished: Finished, now: datetime
) -> Needs:
    """Collect the needs of a source; `finished`: see `read_finished`."""
    lake = settings.layout
    files = tuple(read_files(spark, lake, settings.source))
    gold = (*gold_needs(ledger), *seed_needs(spark, settings, ledger, files))
    keep = settings.retention
    silver = [*gold, silver_age(ledger, finished, now, keep.silver)]
    bronze = [
        *gold,
        *decoding_needs(ledger),
        *_names(spark, settings),
        bronze_age(files, finished, now, keep.bronze),
    ]
    held = retryable(spark, lake, settings.source)
    return Needs(files, tuple(silver), tuple(bronze), frozenset(one.ordinal for one in held))


def gold_needs(ledger: Ledger) -> Iterator[Need]:
    """Yield the needs of gold: what it has not applied yet, or may have to apply again."""
    if ledger.last("gold") is None:
        yield Need(FROM_START, "gold has applied nothing yet")
        return
    state = GoldState.of(ledger)
    if refresh_under_way(ledger):
        yield Need(FROM_START, "a full refresh is under way")
    yield Need(state.cut_lsn + 1, "gold has not applied the rest yet")
    for table in state.tables.values():
        if table.held:
            yield Need(table.to_lsn + 1, f"{table.name} is held there: {table.held}")
    if 0 < state.xa_from <= state.cut_lsn:
        yield Need(state.xa_from, "an XA transaction prepared there is still open")
    if plan := ledger.open("gold"):
        moving = (t.from_lsn for t in GoldState.from_body(plan.body).tables.values() if t.touched)
        why = f"gold's batch {plan.batch} is under way, or was interrupted and will be resumed"
        yield Need(min(moving, default=state.cut_lsn) + 1, why)


def seed_needs(
    spark: Spark, settings: Settings, ledger: Ledger, files: Sequence[FileRow]
) -> Iterator[Need]:
    """Yield the needs of seeds: the log since their rows were read, until gold has loaded them."""
    lake, source = settings.layout, settings.source
    if not seed_ids(lake, source):
        return
    items = in_force(read_items(spark, lake, source))
    tables = GoldState.of(ledger).tables
    for item in {item.name: item for item in items if item.seed}.values():
        table = tables.get(item.name)
        if item.seed and (table is None or table.to_lsn < item.lsn or table.seed != item.seed.id):
            first = item.seed.lsn + 1
            yield Need(first, f"the seed of {item.name} is not in gold yet")
    for seed in waiting(settings, items):
        places = [lsn_of((row.ordinal, 0)) for row in files if row.file == seed.first[0]]
        if places:
            # If several files have this name, only silver knows which one it is: keep all.
            why = f"silver has not taken the seed of {seed.name} yet"
            yield Need(min(places) | seed.first[1], why)


def decoding_needs(ledger: Ledger) -> Iterator[Need]:
    """Yield the needs of decoding: what silver has not decoded yet, or will decode again."""
    last = ledger.last("silver")
    if last is None:
        yield Need(FROM_START, "silver has decoded nothing yet")
        return
    previous = SilverPlan.from_body(last.body)
    if refresh_under_way(ledger):
        yield Need(FROM_START, "a full refresh is under way")
    yield Need(lsn_of(previous.end), "silver has not decoded the rest yet")
    if plan := ledger.open("silver"):
        body = SilverPlan.from_body(plan.body)
        places = [body.start, *((one.ordinal, one.start_pos) for one in body.retried)]
        why = f"silver's batch {plan.batch} is under way, or was interrupted and will be resumed"
        yield Need(lsn_of(min(places)), why)


def _names(spark: Spark, settings: Settings) -> Iterator[Need]:
    """Yield the needs of tables whose column names are unknown: once known, they are decoded from
    the log's start."""
    items = in_force(read_items(spark, settings.layout, settings.source))
    for name in sorted(unnamed(items)):
        if settings.wanted(name.schema, name.table):
            why = (
                f"the column names of {name} are unknown, and it is decoded from the log's start"
                " once they are known: provide its definition, or exclude it"
            )
            yield Need(FROM_START, why)


# --- age ------------------------------------------------------------------------------------------

Finished = Mapping[tuple[str, int], datetime]
"""When batches were finished, by layer and batch number."""


def read_finished(ledger: Ledger) -> Finished:
    """Read the times of all the source's batches from the ledger."""
    return {
        (entry.layer, entry.batch): entry.at
        for entry in ledger.history()
        if entry.state == FINISHED
    }


def silver_age(ledger: Ledger, finished: Finished, now: datetime, keep: timedelta | None) -> Need:
    """Return silver's need by age: what follows the cut of the last batch older than `keep`."""
    if keep is None:
        return Need(FROM_START, "retention.silver is forever")
    old = [
        batch for (layer, batch), at in finished.items() if layer == "silver" and at < now - keep
    ]
    cut = _cut_of(ledger, max(old)) if old else None
    why = f"the rest was decoded less than {_in_words(keep)} ago (retention.silver)"
    return Need(FROM_START if cut is None else cut + 1, why)


def _cut_of(ledger: Ledger, batch: int) -> int | None:
    """Return the LSN of the last transaction that silver had after a batch."""
    for body in ledger.planned("silver", batch, batch):
        cut: int = body["cut_lsn"]
        return cut
    return None


def bronze_age(
    files: tuple[FileRow, ...], finished: Finished, now: datetime, keep: timedelta | None
) -> Need:
    """Return bronze's need by age: from the first file ingested within `keep` on."""
    if keep is None:
        return Need(FROM_START, "retention.bronze is forever")
    old = {
        batch for (layer, batch), at in finished.items() if layer == "bronze" and at < now - keep
    }
    why = f"the rest was ingested less than {_in_words(keep)} ago (retention.bronze)"
    return Need(first_young(files, old), why)


def _in_words(keep: timedelta) -> str:
    hours = keep // timedelta(hours=1)
    return f"{hours} hours" if hours % 24 else f"{hours // 24} days"
