"""`silver/quarantine`: faults, which could not be decoded or must not be applied, with the reason.

A row holds the tables it names just before its transaction (all tables, if it names none) until
`resolved_batch` records the later batch that resolved it.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from decoder.model import TableFilter
from decoder.transactions import INCIDENT, STATEMENT_DML
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
from pipeline.lake.delta_step import Step
from pipeline.lake.files.target_writer import Destination, TargetWriter
from pipeline.lake.lazy_spark import Spark
from pipeline.lake.tables.choice import tables_of
from pipeline.lake.tables.tables import constant
from pipeline.layer import LayerRun
from pipeline.observe.report import sentences_by_cause
from pipeline.schema_history import TableName
from pipeline.schema_history.timeline.consequences import CONSEQUENCES_PATTERN, Consequences
from pipeline.schema_history.timeline.stored_timeline import read_items
from pipeline.silver.decode.decode import (
    FAULTS,
    OFFSET_BITS,
    STAGED_FAULTS,
    of_wanted_tables,
)
from pipeline.silver.decode.segment_refs import SegmentRef
from pipeline.silver.decode.silver_tables import QUARANTINE, quarantine_table, statements_table
from pipeline.silver.plan.batch_plan import Retried

RETRYABLE = ("undecodable", "unsupported", "lossy_key")
"""Kinds of faults that a later decoder, or other settings, may avoid."""
DEFINITION = "definition"
"""The kind of changes of definitions that the timeline cannot follow."""
GIVEN_UP = "given_up"
"""The kind of an accepted gap before a file. It holds no table, but earlier tables may differ from
the source from there on."""
COPY_REMEDY = (
    "To replicate such a table again, run binlake seed --table, or re-create it with its rows in a"
    " session with binlog_format=ROW: RENAME TABLE t TO t_old; CREATE TABLE t (…); INSERT INTO t"
    " SELECT * FROM t_old. Changes by triggers, routines and foreign keys from before the log are"
    " unknown."
)
"""The remedy for rows changed by a logged statement, whose effect on rows the log lacks."""
_SEED = "seed the held tables (binlake seed --table …), and run again."
_NEXT_STEPS = {
    STATEMENT_DML: COPY_REMEDY,
    INCIDENT: f"To continue, {_SEED}",
    DEFINITION: f"To continue, {_SEED}",
}
_NEXT_STEP = f"Run binlake retry once the cause is fixed, or {_SEED}"
FaultPlace = tuple[int, int, int | None]
"""Ordinal and start of a segment, and the LSN of a transaction in it."""
SHOWN = 20
"""The most faults that a run's report lists."""
_SAME = ["__lsn", "__pos", "kind"]
"""Faults equal in these columns are the same fault, decoded twice."""
_BUT_CONTENT = [name for name in QUARANTINE.names if name != "content"]


ReadFaults = Callable[[], Iterable[pa.Table]]
"""Yields rows of `STAGED_FAULTS` in several tables, each time the same."""


def append_faults(
    run: LayerRun,
    batch: int,
    faults: ReadFaults,
    planned: Sequence[Mapping[str, Any]],
    *,
    again: bool = False,
) -> list[str]:
    """Append decoded faults and those of a plan; return sentences about the new ones.

    `again`: the segments were decoded before, so most of their faults are already in quarantine.
    """
    lake, source = run.lake, run.source
    tables, table = tables_of(run.spark, lake), quarantine_table(lake)
    known = _open_faults(run) if again else frozenset()

    def new() -> Iterator[pa.Table]:
        for rows in faults():
            yield _unknown(rows, known) if known else rows
        yield _planned(planned)

    placed = {"source": source, "batch": batch, "resolved_batch": None}
    destination = Destination(tables.folder(table), table, placed)
    with TargetWriter({FAULTS: destination}) as writer:
        for rows in _with_consequences(run, new):
            for some in rows.to_batches():
                writer.add(FAULTS, some)
        written = writer.finish()
    if not written.counts:
        return []
    step = Step(f"silver/{source}/quarantine", batch)
    tables.append(table, written.rest.get(FAULTS), step, written.files.get(FAULTS, ()))
    return _sentences(run, batch)


def _open_faults(run: LayerRun) -> Collection[tuple[Any, ...]]:
    """Return position and kind of each unresolved fault in quarantine."""
    return frozenset(_values(unresolved(run.spark, run.lake, run.source), _SAME))


def _unknown(faults: pa.Table, known: Collection[tuple[Any, ...]]) -> pa.Table:
    """Return the faults that are not in quarantine from an earlier decoding of the same events."""
    return faults.filter(pa.array([row not in known for row in _values(faults, _SAME)], pa.bool_()))


def _values(rows: pa.Table, columns: Sequence[str]) -> Iterable[tuple[Any, ...]]:
    return zip(*rows.select(columns).to_pydict().values(), strict=True)


def _with_consequences(run: LayerRun, faults: ReadFaults) -> Iterator[pa.Table]:
    """Yield the faults of wanted tables, with tables that their statements change indirectly."""
    named = {name for rows in faults() for name in _named_by_statements(rows)}
    if not named:
        yield from faults()
        return
    items = read_items(run.spark, run.lake, run.source)
    consequences = _logged_consequences(run)
    found = consequences.of({item.name for item in items}, set(map(TableName.read, named)))
    for rows in faults():
        replaced = _replaced(rows, found) if found else rows
        yield of_wanted_tables(replaced, run.settings.wanted)


def _named_by_statements(faults: pa.Table) -> Iterator[str]:
    statements = faults.filter(pc.equal(faults.column("kind"), STATEMENT_DML))
    for names in statements.column("tables").to_pylist():
        yield from names or ()


def _replaced(faults: pa.Table, found: Mapping[str, Sequence[str]]) -> pa.Table:
    """Return the faults with the tables that statements name replaced by those in `found`."""
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


def _logged_consequences(run: LayerRun) -> Consequences:
    """Return the foreign keys, triggers and routines that silver's statements declare."""
    consequences = Consequences()
    where = equal("source", run.source) & matches("query", CONSEQUENCES_PATTERN)
    columns = ("query", "schema", "sql_mode")
    rows = tables_of(run.spark, run.lake).read(statements_table(run.lake), where, columns)
    for row in rows.to_pylist():
        consequences.note(row["query"], row["schema"], row["sql_mode"] or 0)
    return consequences


def _planned(faults: Sequence[Mapping[str, Any]]) -> pa.Table:
    """Return the timeline's faults: they belong to the segment of their file at their position."""
    rows = [
        {
            **fault,
            "content": (fault["content"] or "").encode(),
            "ordinal": fault["__lsn"] >> OFFSET_BITS,
        }
        for fault in faults
    ]
    return pa.Table.from_pylist(rows, schema=STAGED_FAULTS)


def accepted_gaps(accepted: Iterable[tuple[SegmentRef, str]]) -> list[dict[str, Any]]:
    """Return quarantine rows for accepted gaps, each with the segment after it."""
    return [
        {
            "__lsn": ref.ordinal << OFFSET_BITS | ref.start_pos,
            "__pos": ref.start_pos,
            "file": ref.file,
            "kind": GIVEN_UP,
            "event_type": None,
            "tables": None,
            "reason": f"the gap before it was accepted: {gap}",
            "content": None,
        }
        for ref, gap in accepted
    ]


def _sentences(run: LayerRun, batch: int) -> list[str]:
    """Describe what a batch put into quarantine, in sentences."""
    where = equal("source", run.source) & equal("batch", batch) & ~equal("kind", GIVEN_UP)
    rows = tables_of(run.spark, run.lake).read(quarantine_table(run.lake), where, _BUT_CONTENT)
    ordered = rows.sort_by([("__lsn", "ascending"), ("__pos", "ascending")])
    of_one = pc.and_(
        pc.equal(ordered.column("kind"), DEFINITION),
        pc.equal(pc.fill_null(pc.list_value_length(ordered.column("tables")), 0), 1),
    )
    # Few per table, if any: those with the same cause share a sentence.
    alone = [(row["tables"][0], sentence(row)) for row in ordered.filter(of_one).to_pylist()]
    found = sentences_by_cause(alone, lambda _, sentence: sentence)
    others = ordered.filter(pc.invert(of_one))
    found += [sentence(row) for row in others.slice(0, SHOWN).to_pylist()]
    if len(others) > SHOWN:
        found.append(f"{len(others) - SHOWN} more faults are in {run.lake.quarantine}.")
    return found


def sentence(fault: Mapping[str, Any]) -> str:
    """Describe one fault: position, reason, the tables that it holds, and the remedy."""
    if fault["kind"] == GIVEN_UP:
        return f"{fault['file']}: {fault['reason']} Earlier tables are no longer complete."
    tables = fault["tables"]
    held = "all" if tables is None else _held(fault)
    kind = f"{fault['event_type']}: " if fault["event_type"] else ""
    remedy = _NEXT_STEPS.get(fault["kind"], _NEXT_STEP)
    return (
        f"{fault['file']}, position {fault['__pos']}: {kind}{fault['reason']}."
        f" Affected tables (held just before this position, unless on_fault is mark): {held}."
        f" {remedy}"
    )


def is_of_first_table(fault: Mapping[str, Any]) -> bool:
    """Return True if a fault is in the first of its tables, and the others wait for that one."""
    tables = fault["tables"]
    return bool(tables) and str(fault["reason"]).startswith(f"{tables[0]}: ")


def _held(fault: Mapping[str, Any]) -> str:
    cause, *waiting = fault["tables"]
    if not waiting or not is_of_first_table(fault):
        return ", ".join(fault["tables"])
    return (
        f"{cause}, and, since the same transaction changes them too, {', '.join(waiting)}"
        f" (waiting for {cause})"
    )


def unresolved(spark: Spark, lake: Lake, source: str, where: Condition = ALL_ROWS) -> pa.Table:
    """Return the quarantine's unresolved rows, without their content."""
    open_ = _open(source) & where
    return tables_of(spark, lake).read(quarantine_table(lake), open_, _BUT_CONTENT)


def _open(source: str) -> Condition:
    return equal("source", source) & missing("resolved_batch")


def retryable(spark: Spark, lake: Lake, source: str) -> tuple[Retried, ...]:
    """Return the segments with transactions that another decoder might decode."""
    where = among("kind", RETRYABLE) & ~missing("__lsn") & ~missing("start_pos")
    held: dict[tuple[int, int], set[int]] = {}
    for row in unresolved(spark, lake, source, where).to_pylist():
        held.setdefault((row["ordinal"], row["start_pos"]), set()).add(row["__lsn"])
    return tuple(
        Retried(ordinal, start, tuple(sorted(lsns)))
        for (ordinal, start), lsns in sorted(held.items())
    )


def supersede(run: LayerRun, batch: int, seeds: Mapping[str, int]) -> None:
    """Resolve faults of definitions from before the LSNs of tables' `seeds`."""
    passed = any_of(
        [
            only_one("tables", [name]) & compare("__lsn", "<=", lsn)
            for name, lsn in sorted(seeds.items())
        ]
    )
    if seeds:
        _set_resolved(run, batch, equal("kind", DEFINITION) & passed)


def still_faulty(faults: ReadFaults, wanted: TableFilter) -> set[FaultPlace]:
    """Return the positions at which decoding again failed again."""
    return {
        place
        for rows in faults()
        for place in _values(of_wanted_tables(rows, wanted), ["ordinal", "start_pos", "__lsn"])
    }


def resolve(
    run: LayerRun,
    batch: int,
    retried: Sequence[Retried],
    remaining: set[FaultPlace],
    named: Collection[str] = (),
) -> None:
    """Resolve the faults that a batch retried, except where they remain.

    Faults of definitions of tables that are `named` now are resolved too: those that still apply
    have been added again.
    """
    done = [
        equal("ordinal", r.ordinal) & equal("start_pos", r.start_pos) & among("__lsn", lsns)
        for r in retried
        if (lsns := [n for n in r.lsns if (r.ordinal, r.start_pos, n) not in remaining])
    ]
    if not done and not named:
        return
    retryable_here = among("kind", RETRYABLE) & any_of(done)
    of_these = equal("kind", DEFINITION) & only_one("tables", sorted(named))
    repeated = of_these & compare("batch", "<", batch)
    _set_resolved(run, batch, retryable_here | repeated)


def _set_resolved(run: LayerRun, batch: int, where: Condition) -> None:
    """Set `resolved_batch` of open faults."""
    tables, table = tables_of(run.spark, run.lake), quarantine_table(run.lake)
    if tables.exists(table):
        step = Step(f"silver/{run.source}/resolved", batch)
        resolved = constant("resolved_batch", batch)
        tables.update(table, _open(run.source) & where, [resolved], step)
