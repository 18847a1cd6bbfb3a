"""What of a source's history somebody still needs, and who: read from the ledger, the quarantine
and the timeline."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta

from pipeline.bronze import read_files
from pipeline.bronze.files import FileRow
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
    """Of one source: its files, what holds its silver and its bronze, and its files with faults."""

    files: tuple[FileRow, ...]
    silver: tuple[Need, ...]
    bronze: tuple[Need, ...]
    faulty: frozenset[int]


def find_needs(
    spark: Spark, settings: Settings, ledger: Ledger, finished: Finished, now: datetime
) -> Needs:
    """Look everything up; `finished`: see `read_finished`."""
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
    """What gold has not applied yet, or may have to apply again."""
    if ledger.last("gold") is None:
        yield Need(FROM_START, "gold has applied nothing yet")
        return
    state = GoldState.of(ledger)
    if refresh_under_way(ledger):
        yield Need(FROM_START, "a full refresh is under way")
    yield Need(state.cut_lsn + 1, "gold has come to it")
    for table in state.tables.values():
        if table.held:
            yield Need(table.to_lsn + 1, f"{table.name} is held there: {table.held}")
    if 0 < state.xa_from <= state.cut_lsn:
        yield Need(state.xa_from, "an XA transaction that is prepared there is still open")
    if plan := ledger.open("gold"):
        moving = (t.from_lsn for t in GoldState.from_body(plan.body).tables.values() if t.touched)
        why = f"gold's batch {plan.batch} is under way, or was killed and is to be finished"
        yield Need(min(moving, default=state.cut_lsn) + 1, why)


def seed_needs(
    spark: Spark, settings: Settings, ledger: Ledger, files: Sequence[FileRow]
) -> Iterator[Need]:
    """What the log says of a seed's rows since, until gold has taken them."""
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
            # Of files of one name silver tells which it is: here it may be any of them.
            yield Need(min(places) | seed.first[1], f"the seed of {seed.name} is not taken yet")


def decoding_needs(ledger: Ledger) -> Iterator[Need]:
    """What silver has not decoded yet, or is to decode again."""
    last = ledger.last("silver")
    if last is None:
        yield Need(FROM_START, "silver has decoded nothing yet")
        return
    before = SilverPlan.from_body(last.body)
    if refresh_under_way(ledger):
        yield Need(FROM_START, "a full refresh is under way")
    yield Need(lsn_of(before.end), "silver has come to it")
    if plan := ledger.open("silver"):
        body = SilverPlan.from_body(plan.body)
        places = [body.start, *((one.ordinal, one.start_pos) for one in body.retried)]
        why = f"silver's batch {plan.batch} is under way, or was killed and is to be finished"
        yield Need(lsn_of(min(places)), why)


def _names(spark: Spark, settings: Settings) -> Iterator[Need]:
    """Tables that wait for names are taken up from the log's start, where conf defines them."""
    items = in_force(read_items(spark, settings.layout, settings.source))
    for name in sorted(unnamed(items)):
        if settings.wanted(name.schema, name.table):
            why = (
                f"{name} waits for the names of its columns, and is read from the log's start then:"
                " give its definitions, or exclude it"
            )
            yield Need(FROM_START, why)


# --- age ------------------------------------------------------------------------------------------

Finished = Mapping[tuple[str, int], datetime]
"""When a layer's batches were finished, by layer and number."""


def read_finished(ledger: Ledger) -> Finished:
    """From the ledger: all of the source's."""
    return {
        (entry.layer, entry.batch): entry.at
        for entry in ledger.history()
        if entry.state == FINISHED
    }


def silver_age(ledger: Ledger, finished: Finished, now: datetime, keep: timedelta | None) -> Need:
    """What came into silver a short while ago: behind the cut of the last batch of before."""
    if keep is None:
        return Need(FROM_START, "retention.silver is forever")
    old = [
        batch for (layer, batch), at in finished.items() if layer == "silver" and at < now - keep
    ]
    cut = _cut_of(ledger, max(old)) if old else None
    why = f"what follows came in less than {_in_words(keep)} ago (retention.silver)"
    return Need(FROM_START if cut is None else cut + 1, why)


def _cut_of(ledger: Ledger, batch: int) -> int | None:
    """The last transaction that silver had after a batch."""
    for body in ledger.planned("silver", batch, batch):
        cut: int = body["cut_lsn"]
        return cut
    return None


def bronze_age(
    files: tuple[FileRow, ...], finished: Finished, now: datetime, keep: timedelta | None
) -> Need:
    """What came into bronze a short while ago, from the first such file on."""
    if keep is None:
        return Need(FROM_START, "retention.bronze is forever")
    old = {
        batch for (layer, batch), at in finished.items() if layer == "bronze" and at < now - keep
    }
    why = f"what follows came in less than {_in_words(keep)} ago (retention.bronze)"
    return Need(first_young(files, old), why)


def _in_words(keep: timedelta) -> str:
    hours = keep // timedelta(hours=1)
    return f"{hours} hours" if hours % 24 else f"{hours // 24} days"
