"""Survey a batch's definitions before decoding: its table maps and statements, in log order.

Bronze has excerpts of segments for this, with only the events that the survey needs; other segments
are read in tasks.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime, timezone
from itertools import chain
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from decoder import Segment, SegmentDecoder, TableDefinition, TypeOptions
from decoder.model import Definitions, Statements, TableFilter, Transactions
from decoder.stream import ExcerptEvents, excerpt_content, warm
from decoder.transactions import may_change_tables
from pipeline.bronze.tables import segments_table
from pipeline.lake.delta_log.conditions import compare, equal
from pipeline.lake.tables.choice import tables_of
from pipeline.layer import LayerRun
from pipeline.schema_history import TableName, Timeline
from pipeline.schema_history.alter.items import Position, TimelineItem
from pipeline.schema_history.timeline.definitions_file import TimelineStart
from pipeline.schema_history.timeline.timeline import LoggedStatement, TimelineOptions
from pipeline.settings import Settings
from pipeline.silver.decode.decode import OFFSET_BITS, segments_in, server_of
from pipeline.silver.decode.segment_refs import FilePosition, SegmentRef
from pipeline.silver.decode.segment_tasks import results
from pipeline.silver.decode.splitter import Split, Splitter
from pipeline.silver.decode.table_names import TableNames
from pipeline.silver.plan.batch_plan import PlannedTable, planned_tables
from pipeline.source.server.version import server_number

FOUND = pa.schema(
    [
        pa.field("file", pa.string()),
        pa.field("ordinal", pa.int64()),
        # definition | statement | segment
        pa.field("kind", pa.string()),
        pa.field("lsn", pa.int64()),
        pa.field("pos", pa.int64()),
        pa.field("content", pa.string()),
    ]
)
"""The survey's result for the driver. A `segment` row's LSN is that of its last transaction; its
content is the version of the server that wrote it, if it has anything new."""

Found = Mapping[str, Any]
"""A row of `FOUND`."""

_NONE: Mapping[FilePosition, str] = {}
_ORDER = {"statement": 0, "definition": 1}
_COLUMNS = ("file", "ordinal", "start_pos", "transaction_pos", "preamble", "excerpt")
_AT_ONCE = 256
"""Excerpts in memory at once, of at most `decoder.stream.excerpt.LIMIT` bytes each."""


@dataclass(frozen=True, slots=True)
class Surveyed:
    """The result of the survey of a batch, for its plan."""

    last_lsn: int | None
    tables: tuple[PlannedTable, ...]
    names: TableNames
    items: tuple[TimelineItem, ...]
    faults: tuple[dict[str, Any], ...]


@dataclass(frozen=True, slots=True)
class StartDefinitions:
    """Definitions of tables from the settings or a server, valid from `lsn` on.

    `server`: the version of the server that printed them; empty: the server of the log.
    """

    lsn: int
    start: TimelineStart
    server: str = ""


def find(
    run: LayerRun,
    refs: Sequence[SegmentRef],
    seen: Mapping[FilePosition, str] = _NONE,
    *,
    apart: bool = False,
) -> list[Found]:
    """Return the definitions and statements in the segments: rows of `FOUND`, in no order.

    Segments are only read if they have no excerpt, or if some of their transactions were `seen`
    before (see `pipeline.silver.decode.splitter`). `apart`: see `results`.
    """
    warm()
    survey = Survey(run.settings.type_options, run.settings.wanted, seen)
    found: list[Found] = []
    surveyed = set()
    for segment, events in _excerpts(run, refs):
        place = segment.ordinal, segment.start_pos
        if place not in seen:
            found += survey.of_excerpt(segment, events)
            surveyed.add(place)
    if rest := [ref for ref in refs if ref.place not in surveyed]:
        apart = apart or len(rest) < len(refs)
        for rows in results(run, "reading definitions", rest, survey, apart=apart):
            found += rows.to_pylist()
    return found


def tables_named(run: LayerRun, refs: Sequence[SegmentRef]) -> tuple[set[TableName], int]:
    """Return the replicated tables that have rows in the segments, by their excerpts alone, and the
    number of segments that have no excerpt."""
    survey = Survey(run.settings.type_options, run.settings.wanted)
    names, without = set(), len(refs)
    for segment, events in _excerpts(run, refs):
        without -= 1
        rows = survey.of_excerpt(segment, events)
        names |= {shown_name(row) for row in rows if row["kind"] == "definition"}
    return names, without


def _excerpts(run: LayerRun, refs: Sequence[SegmentRef]) -> Iterator[tuple[Segment, ExcerptEvents]]:
    """Yield the segments that have an excerpt, with it, in no order; `refs` are in order."""
    for start in range(0, len(refs), _AT_ONCE):
        yield from _some_excerpts(run, refs[start : start + _AT_ONCE])


def _some_excerpts(
    run: LayerRun, refs: Sequence[SegmentRef]
) -> Iterator[tuple[Segment, ExcerptEvents]]:
    wanted = {ref.place for ref in refs}
    (first, begin), (last, end) = min(wanted), max(wanted)
    where = equal("source", run.source) & equal("part", 0)
    where &= compare("ordinal", ">", first) | (
        equal("ordinal", first) & compare("start_pos", ">=", begin)
    )
    where &= compare("ordinal", "<", last) | (
        equal("ordinal", last) & compare("start_pos", "<=", end)
    )
    rows = tables_of(run.spark, run.lake).read(segments_table(run.lake), where, _COLUMNS)
    for row in rows.to_pylist():
        if row["excerpt"] is not None and (row["ordinal"], row["start_pos"]) in wanted:
            segment = Segment(
                row["file"],
                row["ordinal"],
                row["start_pos"],
                row["transaction_pos"],
                row["preamble"] or b"",
            )
            yield segment, [(one["position"], one["event"]) for one in row["excerpt"]]


@dataclass(frozen=True)
class Survey:
    """A search for definitions and statements that may change tables, without decoding rows.

    `seen`: see `Splitter`; these transactions are skipped.
    """

    types: TypeOptions
    wanted: TableFilter
    seen: Mapping[FilePosition, str] = field(default_factory=dict)

    def __call__(self, rows: Iterable[pa.RecordBatch]) -> pa.Table:
        """Return rows of `FOUND` for all segments in `rows`."""
        splitter = Splitter(self.seen)
        found = (
            self._segment(segment, splitter.split(segment, parts))
            for segment, parts in segments_in(rows)
        )
        return pa.Table.from_batches(
            (pa.RecordBatch.from_pylist(some, schema=FOUND) for some in found), FOUND
        )

    def of_excerpt(self, segment: Segment, events: ExcerptEvents) -> list[dict[str, Any]]:
        """Return the same rows from the segment's excerpt (see `decoder.stream.excerpt`)."""
        content, places = excerpt_content(events, segment.start_pos)
        split = Split([(segment, iter([pa.py_buffer(content)]))])
        found = self._segment(segment, split)
        for row in found:
            row["lsn"], row["pos"] = (_placed(row[name], places) for name in ("lsn", "pos"))
        return found

    def _segment(self, segment: Segment, split: Split) -> list[dict[str, Any]]:
        found = []
        last = _last_lsn(split.seen)
        server: str | None = None
        for piece, content in split.pieces:
            for row in self._piece(piece, content):
                if row["kind"] == "segment":
                    last = max(filter(None, (last, row["lsn"])), default=None)
                    server = row["content"]
                else:
                    found.append(row)
        end = {"kind": "segment", "lsn": last, "pos": segment.start_pos, "content": server}
        return [{"file": segment.file, "ordinal": segment.ordinal, **row} for row in (*found, end)]

    def _piece(self, segment: Segment, parts: Iterator[pa.Buffer]) -> Iterator[dict[str, Any]]:
        first = next(parts)
        server = server_of(segment, first)
        decoder = SegmentDecoder(segment, self.types, rows=False, wanted=self.wanted)
        for result in decoder.decode(chain([first], parts)):
            if isinstance(result, Definitions):
                yield from self._definitions(result)
            elif isinstance(result, Statements):
                yield from table_statements(result.batch, server)
            elif isinstance(result, Transactions):
                yield {"kind": "segment", "lsn": _last_lsn(result.batch), "content": server}

    def _definitions(self, found: Definitions) -> Iterator[dict[str, Any]]:
        for lsn, pos, definition in found.items:
            if self.wanted(definition.schema, definition.table):
                text = definition.to_json()
                yield {"kind": "definition", "lsn": lsn, "pos": pos, "content": text}


def _placed(lsn: int | None, places: Mapping[int, int]) -> int | None:
    """Convert an LSN or position of an excerpt to the segment's; earlier ones stay the same."""
    if lsn is None:
        return None
    position = lsn & ((1 << OFFSET_BITS) - 1)
    return lsn - position + places.get(position, position)


def _last_lsn(transactions: pa.RecordBatch | None) -> int | None:
    """Return the LSN of the last transaction; None if there is none."""
    if transactions is None or not transactions.num_rows:
        return None
    last: int = pc.max(transactions.column("__lsn")).as_py()
    return last


def table_statements(batch: pa.RecordBatch, server: str) -> Iterator[dict[str, Any]]:
    """Yield statements that may change tables as JSON; `executed_at` in Unix microseconds."""
    queries = batch.column("query").to_pylist()
    chosen = [i for i, query in enumerate(queries) if may_change_tables(query)]
    if not chosen:
        return
    executed = batch.column("executed_at").cast(pa.int64())
    times = executed.take(pa.array(chosen)).to_pylist()
    names = (
        *("query", "schema", "sql_mode", "time_zone", "ddl_xid"),
        *("charset", "connection_charset", "server_charset"),
        *("explicit_defaults_for_timestamp", "thread_specific"),
    )
    rows = batch.take(pa.array(chosen)).select(["__lsn", "__pos", *names]).to_pylist()
    for row, time in zip(rows, times, strict=True):
        content = {name: row[name] for name in names} | {"executed_at": time, "server": server}
        yield {
            "kind": "statement",
            "lsn": row["__lsn"],
            "pos": row["__pos"],
            "content": json.dumps(content, ensure_ascii=False),
        }


def definitions(rows: Iterable[Found]) -> list[tuple[Position, TableDefinition]]:
    """Return the definitions of table maps with their positions, in log order."""
    return [
        ((row["lsn"], row["pos"]), TableDefinition.from_json(row["content"]))
        for row in ordered(rows)
        if row["kind"] == "definition"
    ]


def ordered(rows: Iterable[Found]) -> list[Found]:
    """Return the statements and definitions in log order."""
    found = [row for row in rows if row["kind"] in _ORDER]
    return sorted(found, key=lambda row: (row["lsn"], row["pos"], _ORDER[row["kind"]]))


def timeline_options(settings: Settings, *, from_start: bool) -> TimelineOptions:
    """Return the settings that the timeline needs."""
    return TimelineOptions(
        wanted=settings.wanted,
        types=settings.type_options,
        system_time_zone=settings.system_time_zone,
        from_start=from_start,
        lower_case_table_names=settings.lower_case_table_names,
        default_charset=settings.default_charset,
    )


def in_log_order(
    rows: Sequence[Found], timeline: Timeline, starts: Iterable[StartDefinitions] = ()
) -> Surveyed:
    """Apply the survey's rows, and definitions from the settings and servers, to the timeline."""
    files = {row["ordinal"]: row["file"] for row in rows}
    kept: dict[TableDefinition, int] = {}
    seen: list[tuple[Position, TableDefinition, TableDefinition]] = []
    waiting = sorted(starts, key=lambda start: start.lsn)
    for row in ordered(rows):
        while waiting and row["lsn"] >= waiting[0].lsn:
            _declare(timeline, waiting.pop(0), rows)
        if row["kind"] == "statement":
            timeline.statement(logged_statement(row))
        else:
            shown = TableDefinition.from_json(row["content"])
            position = row["lsn"], row["pos"]
            definition, kept[definition] = timeline.table_map(position, shown)
            seen.append((position, shown, definition))
    for start in waiting:
        _declare(timeline, start, rows)
    return Surveyed(
        last_lsn=max((row["lsn"] for row in rows if row["lsn"] is not None), default=None),
        tables=planned_tables(kept.items()),
        names=TableNames.of(seen),
        items=tuple(timeline.new),
        faults=tuple(_faults(timeline, files)),
    )


def _declare(timeline: Timeline, start: StartDefinitions, rows: Iterable[Found]) -> None:
    # A segment without new transactions has no version.
    versions = (row["content"] for row in rows if row["kind"] == "segment")
    server = start.server or next(filter(None, versions), "")
    number, mariadb = server_number(server)
    at = LoggedStatement(start.lsn, 0, "", server_version=number, mariadb=mariadb)
    timeline.declare(at, start.start)


def shown_name(row: Found) -> TableName:
    """Return the table of a definition's row."""
    shown = json.loads(row["content"])
    return TableName(shown["schema"], shown["table"])


def logged_statement(row: Found) -> LoggedStatement:
    """Return the statement of a row of `table_statements` (see `decode`)."""
    fields = json.loads(row["content"])
    micros = fields["executed_at"]
    executed_at = (
        None if micros is None else datetime.fromtimestamp(micros / 1_000_000, timezone.utc)
    )
    return LoggedStatement.read((row["lsn"], row["pos"]), fields, executed_at, fields["server"])


def _faults(timeline: Timeline, files: dict[int, str]) -> Iterator[dict[str, Any]]:
    """Yield quarantine rows for changes that the timeline cannot follow."""
    for item in timeline.new:
        if item.kind in ("unsupported", "rows_not_logged"):
            yield _fault(
                files, item.lsn, item.pos, [str(item.name)], item.reason or "", item.statement
            )
    for statement, reason in timeline.unreadable:
        text = f"a statement that may change any table cannot be parsed: {reason}"
        yield _fault(files, statement.lsn, statement.pos, None, text, statement.query)


def _fault(
    files: dict[int, str],
    lsn: int,
    pos: int,
    tables: list[str] | None,
    reason: str,
    statement: str | None,
) -> dict[str, Any]:
    return {
        "__lsn": lsn,
        "__pos": pos,
        "file": files.get(lsn >> OFFSET_BITS, ""),
        "kind": "definition",
        "event_type": "TABLE_MAP" if statement is None else "QUERY",
        "tables": tables,
        "reason": reason,
        "content": statement,
    }
