"""Pages of lakes that were never written: what a busy, an evil and a new lake would show."""

from __future__ import annotations

import random
from collections.abc import Iterator, Sequence
from dataclasses import replace
from datetime import datetime, timedelta, timezone

from pipeline.lake.ledger.ledger import Entry
from pipeline.lake.ledger.run_record import Outcome, RunRecord, Sentence
from pipeline.run.page.lake_page import LakePage
from pipeline.run.page.schema_changes import SchemaChange
from pipeline.run.page.stored_sizes import TableSize
from pipeline.run.status import LastRun, SourceStatus, Status, TableStatus

NOW = datetime(2026, 11, 26, 14, 20, 5, tzinfo=timezone.utc)
EVIL = (
    "<script>alert(1)</script>",
    "</style></svg></figure><h1>",
    "\"'><img src=https://evil.example/x onerror=alert(1)>",
    "{{ 7 * 7 }}&amp;\x01\x1b[0m",
    "ü📦 ظهر",
)
"""Names of tables that a page must show as they are."""


def made_table(
    name: str,
    *,
    held: bool = False,
    complete: bool = True,
    drift: int = 0,
    reason: str | None = None,
    source: str = "shop",
) -> TableStatus:
    """Return the status of a table in schema `shop`."""
    remedy = f"binlake seed --source {source} reads its rows." if not complete else None
    return TableStatus(
        source,
        "shop",
        name,
        f"/data/lake/gold/shop/{name}",
        lsn=1 << 41,
        faults=int(held),
        held=held,
        complete=complete,
        dropped=False,
        named=True,
        reason=reason,
        drift=drift,
        remedy=remedy,
    )


def made_run(
    started: datetime,
    *,
    source: str = "shop",
    outcome: Outcome = "done",
    seconds: float = 40.0,
    rows: dict[str, int] | None = None,
    lag: float | None = 60.0,
    command: str = "run",
) -> RunRecord:
    """Return the record of a run that published a snapshot `lag` seconds old (None: none)."""
    finished = started + timedelta(seconds=seconds)
    published = lag is not None and command == "run"
    return RunRecord(
        run_id=f"{source}-{started:%d%H%M}",
        source=source,
        command=command,
        layers=("bronze", "silver", "gold"),
        started_at=started,
        finished_at=finished,
        outcome=outcome,
        exit_code={"done": 0, "nothing_new": 0, "faults": 3}.get(outcome, 1),
        layer_seconds={"bronze": seconds * 0.1, "silver": seconds * 0.25, "gold": seconds * 0.6},
        error="MySQL went away: <b>'db'</b>." if outcome == "failed" else None,
        bytes=(seconds and int(seconds * 1_500_000)) or 0,
        transactions=int(seconds * 30),
        rows_decoded_by_table=rows or {},
        rows_applied_by_table=rows or {},
        cut_committed_at=finished - timedelta(seconds=lag or 0) if published else None,
        published_at=finished if published else None,
        fault_count=int(outcome == "faults"),
    )


def source_of(run: RunRecord | None, name: str = "shop", now: datetime = NOW) -> SourceStatus:
    """Return the status of a source whose last run this is."""
    if run is None:
        return SourceStatus(name, None, None, None, None, None, None)
    last = LastRun(
        run.run_id,
        run.command,
        run.started_at,
        run.finished_at,
        run.outcome,
        run.exit_code,
        run.error,
    )
    committed, published = run.cut_committed_at, run.published_at
    return SourceStatus(
        name,
        1 << 41 if committed else None,
        committed,
        published,
        run.lag_seconds,
        (now - committed).total_seconds() if committed else None,
        last,
        gtid_set="3e11fa47-71ca-11e1-9e33-c80aa9429562:1-48213" if committed else None,
    )


def busy_page(tables: int = 24, *, days: int = 30, every: float = 2.0) -> LakePage:
    """Return a page of a lake with a month of runs, all kinds of trouble, and `tables` tables."""
    chance = random.Random(7)
    plain = [f"table_{n:03}" for n in range(tables - len(EVIL))]
    names = [plain[0], *EVIL, *plain[1:]]
    runs = list(_runs(chance, [f"shop.{name}" for name in names], days, every))
    found = [made_table(name) for name in names]
    found[0] = made_table(names[0], held=True, reason="binlog.000042, position 1711: damaged.")
    found[1] = made_table(names[1], held=True, reason="<b>its</b> key is lossy.")
    found[2] = made_table(names[2], complete=False, reason="Its CREATE TABLE is not in the log.")
    found[3] = made_table(names[3], drift=12)
    last = next(run for run in runs if run.published_at)
    layers = tuple(
        Entry("shop", layer, 812, "finished", "r", NOW - timedelta(minutes=9))
        for layer in ("bronze", "silver", "gold")
    )
    problems = ("1 file is missing between binlog.000007 and binlog.000009.",)
    status = Status("/data/lake", layers, tuple(found), problems, (source_of(last),))
    return LakePage(
        status,
        NOW,
        days,
        runs,
        list(_changes(chance, names)),
        list(_sizes(chance, names)),
        [verification()],
        version="0.1.0",
    )


def verification(outcome: Outcome = "faults") -> RunRecord:
    """Return the record of a comparison with a server."""
    run = made_run(NOW - timedelta(hours=9), command="verify", outcome=outcome, lag=None)
    note = Sentence("verify", "24 tables compared with db:3306 at LSN 2199023255552.")
    return replace(run, faults=(Sentence("verify", "shop.a differs: 3 rows."),), notes=(note,))


def several_sources_page() -> LakePage:
    """Return a page of a lake with three sources, one of which has published nothing."""
    names = ("billing", "shop", "warehouse")
    runs = [
        made_run(NOW - timedelta(hours=12 * n + 2), source=name, rows={f"{name}.t": 900 * (n + 1)})
        for n in range(20)
        for name in names[:2]
    ]
    failed = made_run(NOW - timedelta(hours=1), source=names[2], outcome="failed", lag=None)
    of = {run.source: run for run in reversed(runs)}
    sources = (*(source_of(of[name], name) for name in names[:2]), source_of(failed, names[2]))
    tables = tuple(made_table("t", source=name) for name in names[:2])
    status = Status("s3a://lake/prod", (), tables, (), sources)
    return LakePage(status, NOW, 30, [failed, *runs], version="0.1.0")


def first_run_failed_page() -> LakePage:
    """Return a page of a lake whose first run failed."""
    run = made_run(NOW - timedelta(minutes=3), outcome="failed", seconds=0.8, lag=None)
    run = replace(run, layer_seconds={}, bytes=0, transactions=0)
    problems = ("shop: nothing has been ingested yet; `binlake runs` shows why.",)
    status = Status("/data/lake", (), (), problems, (source_of(run),))
    return LakePage(status, NOW, 30, [run], version="0.1.0")


def first_run_page() -> LakePage:
    """Return a page of a lake after its first run: one point in each chart."""
    run = made_run(NOW - timedelta(minutes=3), rows={"shop.orders": 500}, lag=5_000)
    changes = [SchemaChange("shop", "shop.orders", "created", NOW - timedelta(hours=2), "CREATE")]
    sizes = [TableSize("gold", "gold/shop/orders", 1, 9_000), TableSize("bronze", "b", 2, 700)]
    status = Status("/data/lake", (), (made_table("orders"),), (), (source_of(run),))
    return LakePage(status, NOW, 30, [run], changes, sizes, version="0.1.0")


def _runs(
    chance: random.Random, tables: Sequence[str], days: int, every: float
) -> Iterator[RunRecord]:
    """Yield runs, the latest first."""
    outcomes: tuple[Outcome, ...] = ("done",) * 16 + ("nothing_new",) * 3 + ("faults", "failed")
    for n in range(int(days * 24 / every)):
        outcome = chance.choice(outcomes) if n else "done"
        weights = enumerate(tables, 1)
        rows = {
            table: int(chance.uniform(0.2, 1.8) * 40_000 / place)
            for place, table in weights
            if chance.random() < 0.8
        }
        worked = outcome in ("done", "faults")
        yield made_run(
            NOW - timedelta(hours=every * n, minutes=9),
            outcome=outcome,
            seconds=chance.uniform(30, 90) if worked else chance.uniform(0.4, 2),
            rows=rows if worked else {},
            lag=chance.uniform(300, 2400) if worked else None,
        )


def _changes(chance: random.Random, names: Sequence[str]) -> Iterator[SchemaChange]:
    kinds = ("created", "columns added", "altered", "renamed", "emptied", "dropped")
    for n in range(30):
        table, what = chance.choice(names), chance.choice(kinds)
        at = NOW - timedelta(hours=23 * n + 1)
        text = f"ALTER TABLE `{table}` ADD COLUMN note_{n} VARCHAR(200) NOT NULL DEFAULT ''"
        yield SchemaChange("shop", f"shop.{table}", what, at, text)


def _sizes(chance: random.Random, names: Sequence[str]) -> Iterator[TableSize]:
    yield TableSize("bronze", "bronze/segments", 412, 6_100_000_000)
    found = [
        TableSize(layer, f"{layer}/shop/{name}", chance.randrange(1, 40), 4_000_000_000 // place)
        for place, name in enumerate(names, 1)
        for layer in ("gold", "silver")
    ]
    yield from sorted(found, key=lambda one: -(one.bytes or 0))
    yield TableSize("ledger", "ledger/batches", 2_000, 9_000_000)
    yield TableSize("gold", "gold/shop/damaged")
