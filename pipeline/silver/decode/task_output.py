"""Combine the output of a batch's decoding tasks: files and rows by target.

Rows too few for a file in their task are collected here, by the same writer in bounded memory, so
that each table gets one small file instead of one per task. The parts of a transaction that spans
segments are merged.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from typing import Any

import pyarrow as pa

from pipeline.lake.delta_log.model import DataFile
from pipeline.lake.files.data_files import row_groups
from pipeline.lake.files.target_writer import Destination, Limits, TargetWriter, Written
from pipeline.silver.decode.decode import (
    LOSSY,
    LOSSY_COUNTS,
    PARTS,
    STAGED_TRANSACTIONS,
    TRANSACTIONS,
    Decode,
)

HELD_BYTES = 64 << 20
"""Limit of all tasks' rows that are too few for a file: kept in memory until committed, as one file
per table."""
LossyCounts = Mapping[str, Mapping[str, int]]
"""`schema.table` to column to the number of values replaced, in before and after images."""
SEEN = "seen_before"
"""Counter of transactions that the lake already had (each part of a transaction counts)."""

_SPANS = ("rolled_back", "rolled_back_rows", "cascades_logged_rows")
UNKNOWN = "unknown"
"""`cascades` of a transaction in parts, if it is unknown in which parts cascades are unlogged."""


@dataclass(frozen=True)
class DecodeAndWrite:
    """A task's function: decode segments and write their rows."""

    decode: Decode
    destinations: Mapping[str, Destination]
    scratch: str

    def __call__(self, rows: Iterator[pa.RecordBatch]) -> Written:
        """Decode and write the segments of one task (see `pipeline.lake.files.target_writer`)."""
        seen = 0
        with TargetWriter(self.destinations, scratch=self.scratch) as writer:
            for target, batch in self.decode(rows):
                if target in (TRANSACTIONS, PARTS):
                    seen += batch.column(SEEN).true_count
                writer.add(target, batch)
            written = writer.finish()
        if seen:
            written.counts[SEEN] = seen
        return written


def rows_of(decoded: Written, target: str) -> Iterator[pa.Table]:
    """Yield a target's rows: those in files, then the others."""
    for file in decoded.files.get(target, ()):
        yield from row_groups(file)
    if target in decoded.rest:
        yield decoded.rest[target]


def lossy_values(decoded: Written) -> LossyCounts:
    """Return the numbers of values that differ from what was logged."""
    rows = decoded.rest.get(LOSSY, LOSSY_COUNTS.empty_table())
    sums = rows.group_by(["table", "column"]).aggregate([("values", "sum")])
    found: dict[str, dict[str, int]] = defaultdict(dict)
    for row in sums.sort_by([("table", "ascending"), ("column", "ascending")]).to_pylist():
        found[row["table"]][row["column"]] = row["values_sum"]
    return dict(found)


def lossy_sentences(lossy: LossyCounts) -> Iterator[str]:
    """Yield one sentence per column."""
    for table, columns in lossy.items():
        for column, values in columns.items():
            yield (
                f"{table}, column {column}: {values:,} values are not stored as logged. Zero"
                " and impossible dates became NULL (zero_dates: string and a full refresh keep"
                " them); bytes that are invalid in the column's charset became U+FFFD."
            )


def together(
    tasks: Iterable[Written],
    destinations: Mapping[str, Destination],
    limits: Limits | None = None,
) -> Written:
    """Combine the output of all tasks; merge transactions in parts into one row each."""
    counts: Counter[str] = Counter()
    files: dict[str, list[DataFile]] = {}
    parts: list[pa.RecordBatch] = []
    # Tasks have already added the constant columns.
    placed = {name: replace(place, constants={}) for name, place in destinations.items()}
    with TargetWriter(placed, limits or Limits(rest_bytes=HELD_BYTES)) as writer:
        for task in tasks:
            counts.update(task.counts)
            _extend(files, task.files)
            for target, batches in task.rests():
                if target == PARTS:
                    parts += batches
                    continue
                for batch in batches:
                    writer.add(target, batch)
        if parts:
            rows = whole(pa.Table.from_batches(parts).cast(STAGED_TRANSACTIONS))
            for batch in destinations[TRANSACTIONS].rows(rows.to_batches()).to_batches():
                writer.add(TRANSACTIONS, batch)
        merged = writer.finish()
    _extend(files, merged.files)
    return Written(files, merged.rest, counts)


def _extend(files: dict[str, list[DataFile]], more: Mapping[str, Sequence[DataFile]]) -> None:
    for target, found in more.items():
        files.setdefault(target, []).extend(found)


def whole(parts: pa.Table) -> pa.Table:
    """Return transactions in parts as one row each."""
    rows = [{**row, "rows": dict(row["rows"] or ())} for row in parts.to_pylist()]
    return pa.Table.from_pylist(merge_parts(rows), schema=STAGED_TRANSACTIONS)


def merge_parts(parts: Iterable[Mapping[str, Any]]) -> list[dict[str, Any]]:
    """Return one row per LSN: counts are summed, spans joined, other fields the first known value.

    Those only one part has, or they are the same in all.
    """
    by_lsn: dict[int, list[Mapping[str, Any]]] = {}
    for part in sorted(parts, key=lambda part: (part["__lsn"], part["start_pos"])):
        by_lsn.setdefault(part["__lsn"], []).append(part)
    return [_merged(same) for same in by_lsn.values()]


def _merged(parts: list[Mapping[str, Any]]) -> dict[str, Any]:
    rows: Counter[str] = Counter()
    for part in parts:
        rows.update(part["rows"])
    return {
        **{name: _first_known(parts, name) for name in parts[0]},
        "rows": list(rows.items()),
        "bytes": sum(part["bytes"] for part in parts),
        **{
            name: [piece for part in parts for piece in part[name] or ()] or None for name in _SPANS
        },
        "cascades_logged": _logged_spans(parts) or None,
        "cascades": _cascades(parts),
    }


def _logged_spans(parts: list[Mapping[str, Any]]) -> list[dict[str, int]]:
    """Return each part's spans, clipped to the part: its last span has no end of its own."""
    next_starts = [part["start_pos"] for part in parts[1:]]
    return [
        {**piece, "end": min([piece["end"], *next_starts[n : n + 1]])}
        for n, part in enumerate(parts)
        for piece in part["cascades_logged"] or ()
    ]


def _cascades(parts: list[Mapping[str, Any]]) -> str | None:
    """Merge the parts' `cascades`; spans are only known for parts that are mixed."""
    found = {part["cascades"] for part in parts} - {None}
    if len(found) < 2:
        return next(iter(found), None)
    return "mixed" if found == {"mixed", "unlogged"} else UNKNOWN


def _first_known(parts: list[Mapping[str, Any]], name: str) -> int | str | datetime | None:
    known: int | str | datetime | None
    for part in parts:
        known = part[name]
        if known is not None:
            return known
    return None
