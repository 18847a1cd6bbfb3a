"""Survey a batch's definitions before decoding: its table maps and statements, in log order."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timezone
from typing import Any

import pyarrow as pa

from decoder import TableDefinition
from decoder.stream.precompile import warm
from pipeline.catalog import Timeline
from pipeline.catalog.alter.items import Position, TimelineItem
from pipeline.catalog.timeline.timeline import CatalogOptions, LoggedStatement
from pipeline.lake.starting import Spark
from pipeline.observe import Progress
from pipeline.settings import Settings
from pipeline.silver.decode.decode import FOUND, OFFSET_BITS, Survey
from pipeline.silver.decode.segment_tasks import Work, results
from pipeline.silver.decode.segments import Mark, SegmentRef
from pipeline.silver.decode.table_names import TableNames
from pipeline.silver.plan.batch_plan import PlannedTable, planned_tables
from pipeline.silver.plan.excerpts import excerpts
from pipeline.silver.plan.start_definitions import Beginning
from pipeline.source.server.version import server_number

Found = Mapping[str, Any]
"""A row of `FOUND`."""

_NONE: Mapping[Mark, str] = {}
_ORDER = {"statement": 0, "definition": 1}


@dataclass(frozen=True, slots=True)
class Surveyed:
    """The result of the survey of a batch, for its plan."""

    cut_lsn: int | None
    tables: tuple[PlannedTable, ...]
    names: TableNames
    items: tuple[TimelineItem, ...]
    faults: tuple[dict[str, Any], ...]


@dataclass(frozen=True)
class _Search:
    """The function of a survey task."""

    survey: Survey

    def __call__(self, rows: Iterator[pa.RecordBatch]) -> pa.Table:
        return pa.Table.from_batches(self.survey(rows), FOUND)


def find(
    spark: Spark,
    settings: Settings,
    refs: Sequence[SegmentRef],
    progress: Progress,
    seen: Mapping[Mark, str] = _NONE,
    *,
    apart: bool = False,
) -> list[Found]:
    """Return the definitions and statements in the segments: rows of `FOUND`, in no order.

    Bronze has excerpts for this. Segments are only read if they have none, or if some of their
    transactions were `seen` before (see `pipeline.silver.decode.splitter`). `apart`: see `Work`.
    """
    warm()
    survey = Survey(settings.type_options, settings.wanted, seen)
    found: list[Found] = []
    surveyed = set()
    for segment, events in excerpts(spark, settings.layout, settings.source, refs):
        place = segment.ordinal, segment.start_pos
        if place not in seen:
            found += survey.of_excerpt(segment, events)
            surveyed.add(place)
    if rest := [ref for ref in refs if ref.place not in surveyed]:
        work = Work("read definitions", rest, apart or len(rest) < len(refs))
        for rows in results(spark, settings, work, _Search(survey), progress):
            found += rows.to_pylist()
    return found


def definitions(rows: Iterable[Found]) -> list[tuple[Position, TableDefinition]]:
    """Return the definitions of table maps with their positions, in log order."""
    found = [row for row in rows if row["kind"] == "definition"]
    return [
        ((row["lsn"], row["pos"]), TableDefinition.from_json(row["content"]))
        for row in sorted(found, key=lambda row: (row["lsn"], row["pos"]))
    ]


def catalog_options(settings: Settings, *, from_start: bool) -> CatalogOptions:
    """Return the settings that the timeline needs."""
    return CatalogOptions(
        wanted=settings.wanted,
        types=settings.type_options,
        system_time_zone=settings.system_time_zone,
        from_start=from_start,
        lower_case_table_names=settings.lower_case_table_names,
        default_charset=settings.default_charset,
    )


def in_log_order(
    rows: Sequence[Found], timeline: Timeline, starts: Iterable[Beginning] = ()
) -> Surveyed:
    """Apply what was found, and definitions from conf and servers, to the timeline."""
    files = {row["ordinal"]: row["file"] for row in rows}
    kept: dict[TableDefinition, int] = {}
    seen: list[tuple[Position, TableDefinition, TableDefinition]] = []
    found = [row for row in rows if row["kind"] in _ORDER]
    waiting = sorted(starts, key=lambda start: start.lsn)
    for row in sorted(found, key=lambda r: (r["lsn"], r["pos"], _ORDER[r["kind"]])):
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
        cut_lsn=max((row["lsn"] for row in rows if row["lsn"] is not None), default=None),
        tables=planned_tables(kept.items()),
        names=TableNames.of(seen),
        items=tuple(timeline.new),
        faults=tuple(_faults(timeline, files)),
    )


def _declare(timeline: Timeline, start: Beginning, rows: Iterable[Found]) -> None:
    # A segment without new transactions has no version.
    versions = (row["content"] for row in rows if row["kind"] == "segment")
    server = start.server or next(filter(None, versions), "")
    number, mariadb = server_number(server)
    at = LoggedStatement(start.lsn, 0, "", server_version=number, mariadb=mariadb)
    timeline.declare(at, start.start)


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
