"""Decode tables again, from the start, whose column names only became known later.

Once `definitions` or a server defines them, their DDL and TABLE_MAPs are read again, because an
ALTER of an unknown table was skipped. The result replaces their items (`rewound`), and their rows
are decoded again into new silver tables.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from pipeline.bronze import read_files
from pipeline.bronze.tables import FileRow
from pipeline.lake.delta_log.conditions import equal
from pipeline.lake.tables.choice import tables_of
from pipeline.layer import LayerRun
from pipeline.schema_history import TableName, Timeline
from pipeline.schema_history.alter.items import TimelineItem
from pipeline.schema_history.timeline.timeline import TimelineOptions
from pipeline.silver.decode import segment_refs
from pipeline.silver.decode.segment_refs import FilePosition, SegmentRef
from pipeline.silver.decode.silver_tables import transactions_table
from pipeline.silver.plan.known_tables import beginning, beginnings, locate
from pipeline.silver.plan.survey import Found, find, in_log_order, shown_name
from pipeline.silver.plan.take_seeds import SilverReached
from pipeline.source.logs.kept_statements import kept

_LOG_START = 0, 0
_BEFORE_GOLD = (
    "declared",
    "unsupported",
    "model",
    "keys",
    "temporary",
    "drop",
    "moved",
    "mentioned",
)
"""Kinds of items of a table that was never in gold."""
_BEGINS = ("observed", "create", "renamed")
_REPLACED = ("create", "seeded", "renamed")
"""Kinds of items after which gold has a table, whatever held it before."""


@dataclass(frozen=True, slots=True)
class LateNames:
    """The tables that have names now: their items, faults, and the segments with their rows.

    `passed`: transactions to skip, because the lake already had them. `gaps`: sentences about
    tables that still wait although `definitions` names them.
    """

    tables: frozenset[TableName] = frozenset()
    items: tuple[TimelineItem, ...] = ()
    faults: tuple[Mapping[str, Any], ...] = ()
    places: frozenset[FilePosition] = frozenset()
    passed: tuple[int, ...] = ()
    gaps: tuple[str, ...] = ()


def unnamed(items: Iterable[TimelineItem]) -> set[TableName]:
    """Return tables that were never in gold and have a TABLE_MAP without known column names.

    A table whose columns have been named since is still held there, unless it was created again.
    """
    seen: dict[TableName, list[TimelineItem]] = {}
    for item in items:
        seen.setdefault(item.name, []).append(item)
    return {name for name, known in seen.items() if _is_unnamed(known)}


def _is_unnamed(items: Sequence[TimelineItem]) -> bool:
    at = next((n for n, i in enumerate(items) if i.definition and not i.definition.named), None)
    return at is not None and (
        all(item.kind in _BEFORE_GOLD for item in items[:at])
        and not any(item.kind in _REPLACED for item in items[at:])
    )


def late_names(
    run: LayerRun, items: Sequence[TimelineItem], options: TimelineOptions, end: FilePosition
) -> LateNames:
    """Apply definitions from the settings or servers to the waiting tables, up to `end`."""
    waiting, settings = unnamed(items), run.settings
    from_servers = kept(run.lake, run.source) if waiting else []
    if not waiting or (settings.definitions is None and not from_servers):
        return LateNames()
    refs = segment_refs.between(run.spark, run.lake, run.source, _LOG_START, end)
    known = read_files(run.spark, run.lake, run.source)
    files = {row.file: row.ordinal for row in reversed(known)}
    gone = _removed(known, refs, end)
    first = (refs[0].ordinal, refs[0].start_pos) if gone is None else (gone.ordinal + 1, 0)
    start = beginning(settings, files, first, end, first=gone is None)
    reached = SilverReached(0, end, known, all_of_bronze=False)
    readings = locate(from_servers, reached, first, settings.given_up)
    if gone is not None and start is None and not readings.located:
        return LateNames(gaps=(_too_early(gone, waiting),))
    since = start.lsn if start is not None and gone is not None else 0
    options = replace(options, wanted=lambda schema, table: TableName(schema, table) in waiting)
    past = [item for item in items if item.name in waiting]
    rewound = [TimelineItem(*_LOG_START, n.schema, n.table, "rewound") for n in sorted(waiting)]
    passed = _seen_before(run)
    read = find(run, refs)
    new = [row for row in read if row["lsn"] not in passed]
    rows = list(_of((r for r in new if r["lsn"] is None or r["lsn"] >= since), waiting))
    timeline = Timeline([*past, *rewound], options)
    declared = beginnings(readings, timeline, first, new)
    found = in_log_order(rows, timeline, [*filter(None, [start]), *declared])
    named = frozenset(item.name for item in found.items if item.kind in _BEGINS)
    return LateNames(
        named,
        tuple(item for item in (*rewound, *found.items) if item.name in named),
        tuple(f for f in found.faults if set(f["tables"] or ()) & {str(name) for name in named}),
        frozenset(_places(_of(rows, named), refs)),
        tuple(sorted(passed)),
    )


def _removed(
    known: Iterable[FileRow], refs: Iterable[SegmentRef], end: FilePosition
) -> FileRow | None:
    """Return the last file before `end` that maintenance has removed, or None."""
    there = {ref.ordinal for ref in refs}
    gone = [row for row in known if row.ingested_upto and row.ordinal not in there]
    return max(
        (row for row in gone if row.ordinal < end[0]), key=lambda row: row.ordinal, default=None
    )


def _too_early(gone: FileRow, waiting: Iterable[TableName]) -> str:
    return (
        f"{', '.join(sorted(map(str, waiting)))} cannot be decoded: binlake maintain removed the"
        f" log up to {gone.file} from bronze, and the dump in `definitions` was taken earlier than"
        " that. Use a dump with a later position in the log (mysqldump --source-data=2)."
    )


def _seen_before(run: LayerRun) -> set[int]:
    where = equal("source", run.source) & equal("seen_before", True)
    rows = tables_of(run.spark, run.lake).read(transactions_table(run.lake), where, ["__lsn"])
    return set(rows.column("__lsn").to_pylist())


def _of(rows: Iterable[Found], names: Collection[TableName]) -> Iterator[Found]:
    """Yield the rows without TABLE_MAPs of other tables."""
    for row in rows:
        if row["kind"] != "definition" or shown_name(row) in names:
            yield row


def _places(rows: Iterable[Found], refs: Sequence[SegmentRef]) -> Iterator[FilePosition]:
    """Yield the starts of the segments that contain TABLE_MAPs."""
    shown = {(row["ordinal"], row["pos"]) for row in rows if row["kind"] == "definition"}
    for ref in refs:
        if any(o == ref.ordinal and ref.start_pos <= pos < ref.end_pos for o, pos in shown):
            yield ref.ordinal, ref.start_pos
