"""`silver/quarantine`: what could not be decoded, or must not be applied, and why.

A row holds the tables it names just before its transaction, or, naming none, everything, until
`resolved_batch` tells which later batch took it up.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import chain
from typing import Any, Protocol

import pyarrow as pa
import pyarrow.compute as pc

from decoder.transactions.faults import STATEMENT_DML
from pipeline.catalog import TableName
from pipeline.catalog.ddl.ddl import Session
from pipeline.catalog.timeline.consequences import TOLD_BY, Consequences
from pipeline.catalog.timeline.definitions import read_items
from pipeline.lake import Lake
from pipeline.lake.delta_log.conditions import (
    ALL_ROWS,
    Condition,
    among,
    any_of,
    compare,
    equal,
    matches,
    missing,
    only_one,
)
from pipeline.lake.delta_log.table import Step
from pipeline.lake.files.target_writer import Destination, TargetWriter
from pipeline.lake.starting import Spark
from pipeline.lake.tables.opening import tables_of
from pipeline.lake.tables.tables import constant
from pipeline.observe.report import one_for_each_cause
from pipeline.settings import Settings
from pipeline.silver.decode.decode import (
    FAULTS,
    OFFSET_BITS,
    STAGED_FAULTS,
    Wanted,
    of_wanted_tables,
)
from pipeline.silver.decode.segments import SegmentRef
from pipeline.silver.decode.silver_tables import QUARANTINE, quarantine_table, statements_table
from pipeline.silver.plan.batch_plan import Retried

RETRYABLE = ("undecodable", "unsupported", "lossy_key")
"""Kinds of faults that a later decoder, or other settings, may not give again."""
DEFINITION = "definition"
"""The kind of what the timeline cannot follow."""
GIVEN_UP = "given_up"
"""The kind of what is missing before a file, where conf accepts it: it holds nothing, and no table
of before equals the source's from there on."""
WAY_BACK = (
    "To replicate such a table again, create it anew with its rows, in a session with"
    " binlog_format=ROW: RENAME TABLE t TO t_old; CREATE TABLE t (…); INSERT INTO t SELECT * FROM"
    " t_old. What its triggers, routines and foreign keys of before the log change is not known."
)
"""For rows that changed by a statement: the log does not tell them."""
Place = tuple[int, int, int | None]
"""Ordinal and start of a segment, and the LSN of a transaction in it."""
SHOWN = 20
"""How many faults a run's report spells out."""
_SAME = ["__lsn", "__pos", "kind"]
"""Faults that are alike in these are one, decoded twice."""
_BUT_CONTENT = [name for name in QUARANTINE.names if name != "content"]


class Faults(Protocol):
    """Rows of `STAGED_FAULTS`, which can be gone through more than once: some at a time."""

    def __iter__(self) -> Iterator[pa.Table]: ...


def append_faults(
    spark: Spark,
    settings: Settings,
    batch: int,
    faults: Faults,
    planned: Sequence[Mapping[str, Any]],
    *,
    again: bool = False,
) -> list[str]:
    """Append faults that were decoded, and those of a plan; sentences about the first.

    `again`: what is decoded was decoded before, so that most of its faults are in quarantine.
    """
    lake, source = settings.layout, settings.source
    tables, table = tables_of(spark, lake), quarantine_table(lake)
    known = _open_faults(spark, lake, source) if again else frozenset()
    found = [_unknown(rows, known) for rows in faults] if known else faults
    placed = {"source": source, "batch": batch, "resolved_batch": None}
    destination = Destination(tables.folder(table), table, placed)
    with TargetWriter({FAULTS: destination}) as writer:
        for rows in _with_consequences(spark, settings, _Several([found, [_planned(planned)]])):
            for some in rows.to_batches():
                writer.add(FAULTS, some)
        written = writer.finish()
    if not written.counts:
        return []
    step = Step(f"silver/{source}/quarantine", batch)
    tables.add(table, written.files.get(FAULTS, ()), written.rest.get(FAULTS), step)
    return sentences(spark, lake, source, batch)


def _open_faults(spark: Spark, lake: Lake, source: str) -> Collection[tuple[Any, ...]]:
    """Place and kind of each open fault in quarantine."""
    rows = unresolved(spark, lake, source).select(_SAME)
    return frozenset(zip(*rows.to_pydict().values(), strict=True))


def _unknown(faults: pa.Table, known: Collection[tuple[Any, ...]]) -> pa.Table:
    """Without those that are in quarantine since the same events were decoded earlier."""
    rows = zip(*faults.select(_SAME).to_pydict().values(), strict=True)
    return faults.filter(pa.array([row not in known for row in rows], pa.bool_()))


@dataclass(frozen=True, slots=True)
class _Several:
    """Faults of several origins."""

    parts: Sequence[Faults]

    def __iter__(self) -> Iterator[pa.Table]:
        return chain.from_iterable(self.parts)


def _with_consequences(spark: Spark, settings: Settings, faults: Faults) -> Iterator[pa.Table]:
    """The faults, with what statements change besides the tables that they name, of those that
    are wanted."""
    named = {name for rows in faults for name in _named_by_statements(rows)}
    if not named:
        yield from faults
        return
    lake, source = settings.layout, settings.source
    items = read_items(spark, lake, source)
    consequences = logged_consequences(spark, lake, source)
    found = consequences.of({item.name for item in items}, set(map(TableName.read, named)))
    for rows in faults:
        yield of_wanted(_replaced(rows, found) if found else rows, settings.wanted)


def _named_by_statements(faults: pa.Table) -> Iterator[str]:
    statements = faults.filter(pc.equal(faults.column("kind"), STATEMENT_DML))
    for names in statements.column("tables").to_pylist():
        yield from names or ()


def _replaced(faults: pa.Table, found: Mapping[str, Sequence[str]]) -> pa.Table:
    """With the tables in `found` in the place of those that statements name."""
    kinds, tables = faults.column("kind").to_pylist(), faults.column("tables").to_pylist()
    changed = [
        list(dict.fromkeys(more for name in names for more in found.get(name, (name,))))
        if kind == STATEMENT_DML and names is not None
        else names
        for kind, names in zip(kinds, tables, strict=True)
    ]
    at = faults.schema.get_field_index("tables")
    field = faults.schema.field(at)
    return faults.set_column(at, field, pa.array(changed, field.type))


def of_wanted(faults: pa.Table, wanted: Wanted) -> pa.Table:
    """Without faults that touch only tables that are left out."""
    batches = [of_wanted_tables(batch, wanted) for batch in faults.to_batches()]
    return pa.Table.from_batches(batches, faults.schema)


def logged_consequences(spark: Spark, lake: Lake, source: str) -> Consequences:
    """What the statements that silver has tell of foreign keys, triggers and routines."""
    consequences = Consequences()
    where = equal("source", source) & matches("query", TOLD_BY)
    columns = ("query", "schema", "sql_mode")
    for row in tables_of(spark, lake).read(statements_table(lake), where, columns).to_pylist():
        consequences.note(row["query"], Session(row["schema"], row["sql_mode"] or 0))
    return consequences


def _planned(faults: Sequence[Mapping[str, Any]]) -> pa.Table:
    """Faults that the timeline found: they are in the segment of their file that holds them."""
    rows = [
        {
            **fault,
            "content": (fault["content"] or "").encode(),
            "ordinal": fault["__lsn"] >> OFFSET_BITS,
        }
        for fault in faults
    ]
    return pa.Table.from_pylist(rows, schema=STAGED_FAULTS)


def given_up(accepted: Iterable[tuple[SegmentRef, str]]) -> list[dict[str, Any]]:
    """Rows of quarantine for what is missing before segments, where conf accepts it."""
    return [
        {
            "__lsn": ref.ordinal << OFFSET_BITS | ref.start_pos,
            "__pos": ref.start_pos,
            "file": ref.file,
            "kind": GIVEN_UP,
            "event_type": None,
            "tables": None,
            "reason": f"what is missing before it was given up: {gap}",
            "content": None,
        }
        for ref, gap in accepted
    ]


def sentences(spark: Spark, lake: Lake, source: str, batch: int) -> list[str]:
    """What a batch put into quarantine, in words."""
    where = equal("source", source) & equal("batch", batch) & ~equal("kind", GIVEN_UP)
    rows = tables_of(spark, lake).read(quarantine_table(lake), where, _BUT_CONTENT)
    ordered = rows.sort_by([("__lsn", "ascending"), ("__pos", "ascending")])
    of_one = pc.and_(
        pc.equal(ordered.column("kind"), DEFINITION),
        pc.equal(pc.fill_null(pc.list_value_length(ordered.column("tables")), 0), 1),
    )
    # Few, if any, for each table: those of one cause are one sentence.
    alone = [(row["tables"][0], sentence(row)) for row in ordered.filter(of_one).to_pylist()]
    found = one_for_each_cause(alone, lambda _, sentence: sentence)
    others = ordered.filter(pc.invert(of_one))
    found += [sentence(row) for row in others.slice(0, SHOWN).to_pylist()]
    if len(others) > SHOWN:
        found.append(f"{len(others) - SHOWN} more faults are in {lake.quarantine}.")
    return found


def sentence(fault: Mapping[str, Any]) -> str:
    """One fault in words: where, what, which table is held for it and which wait for that one."""
    if fault["kind"] == GIVEN_UP:
        return f"{fault['file']}: {fault['reason']} Tables of before are not complete any more."
    tables = fault["tables"]
    held = "all tables" if tables is None else _held(fault)
    kind = f"{fault['event_type']}: " if fault["event_type"] else ""
    way_back = f" {WAY_BACK}" if fault["kind"] == STATEMENT_DML else ""
    return (
        f"{fault['file']}, position {fault['__pos']}: {kind}{fault['reason']}."
        f" Held before it: {held}.{way_back}"
    )


def is_in_first(fault: Mapping[str, Any]) -> bool:
    """Whether a fault is in the first of its tables, and the others wait for that one."""
    tables = fault["tables"]
    return bool(tables) and str(fault["reason"]).startswith(f"{tables[0]}: ")


def _held(fault: Mapping[str, Any]) -> str:
    cause, *waiting = fault["tables"]
    if not waiting or not is_in_first(fault):
        return ", ".join(fault["tables"])
    return (
        f"{cause}, and, since the same transaction changes them too, {', '.join(waiting)}"
        f" (waiting for {cause})"
    )


def unresolved(spark: Spark, lake: Lake, source: str, where: Condition = ALL_ROWS) -> pa.Table:
    """The quarantine's rows that nothing has taken up yet, without their content."""
    open_ = _open(source) & where
    return tables_of(spark, lake).read(quarantine_table(lake), open_, _BUT_CONTENT)


def _open(source: str) -> Condition:
    return equal("source", source) & missing("resolved_batch")


def retryable(spark: Spark, lake: Lake, source: str) -> tuple[Retried, ...]:
    """Segments with transactions that another decoder might decode."""
    where = among("kind", RETRYABLE) & ~missing("__lsn") & ~missing("start_pos")
    held: dict[tuple[int, int], set[int]] = {}
    for row in unresolved(spark, lake, source, where).to_pylist():
        held.setdefault((row["ordinal"], row["start_pos"]), set()).add(row["__lsn"])
    return tuple(
        Retried(ordinal, start, tuple(sorted(lsns)))
        for (ordinal, start), lsns in sorted(held.items())
    )


def supersede(spark: Spark, lake: Lake, source: str, batch: int, seeds: Mapping[str, int]) -> None:
    """Mark what the timeline could not follow of tables before the LSNs of their `seeds`: nothing
    depends on it from a seed on."""
    passed = any_of(
        [
            only_one("tables", [name]) & compare("__lsn", "<=", lsn)
            for name, lsn in sorted(seeds.items())
        ]
    )
    if seeds:
        _mark(spark, lake, source, batch, equal("kind", DEFINITION) & passed)


def still_faulty(faults: Faults, wanted: Wanted) -> set[Place]:
    """Where decoding again gave a fault again."""
    return {
        place
        for rows in faults
        for place in zip(
            *of_wanted(rows, wanted).select(["ordinal", "start_pos", "__lsn"]).to_pydict().values(),
            strict=True,
        )
    }


def resolve(
    spark: Spark,
    lake: Lake,
    source: str,
    batch: int,
    retried: Sequence[Retried],
    remaining: set[Place],
    named: Collection[str] = (),
) -> None:
    """Mark what a batch took up, except where the fault remains.

    What the timeline told of tables that are `named` now is told anew, as far as it still is so.
    """
    done = [
        equal("ordinal", r.ordinal) & equal("start_pos", r.start_pos) & among("__lsn", lsns)
        for r in retried
        if (lsns := [n for n in r.lsns if (r.ordinal, r.start_pos, n) not in remaining])
    ]
    if not done and not named:
        return
    taken_up = among("kind", RETRYABLE) & any_of(done)
    of_these = equal("kind", DEFINITION) & only_one("tables", sorted(named))
    told_again = of_these & compare("batch", "<", batch)
    _mark(spark, lake, source, batch, taken_up | told_again)


def _mark(spark: Spark, lake: Lake, source: str, batch: int, where: Condition) -> None:
    """Mark open faults as taken up."""
    tables, table = tables_of(spark, lake), quarantine_table(lake)
    if tables.exists(table):
        step = Step(f"silver/{source}/resolved", batch)
        marked = constant("resolved_batch", batch)
        tables.update(table, _open(source) & where, [marked], step)
