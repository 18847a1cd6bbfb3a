"""Combine the output of a batch's decoding tasks: files and rows by target.

Rows too few for a file in their task are collected here, by the same writer in bounded memory, so
that each table gets one small file instead of one per task.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace

import pyarrow as pa

from pipeline.lake.delta_log.table import DataFile
from pipeline.lake.files.target_writer import Destination, Limits, TargetWriter, Written
from pipeline.silver.decode.decode import PARTS, STAGED_TRANSACTIONS, TRANSACTIONS, Decode
from pipeline.silver.decode.lossy_counts import COUNTS, LOSSY, LossyCounts, summed
from pipeline.silver.decode.transactions import whole

HELD_BYTES = 64 << 20
"""Limit of all tasks' rows that are too few for a file: kept in memory until committed, as one file
per table."""
SEEN = "seen_before"
"""Counter of transactions that the lake already had (each part of a transaction counts)."""


@dataclass(frozen=True)
class DecodeAndWrite:
    """A task's function: decode segments and write their rows."""

    decode: Decode
    destinations: Mapping[str, Destination]
    scratch: str

    def __call__(self, rows: Iterator[pa.RecordBatch]) -> Written:
        """See `pipeline.lake.files.target_writer`."""
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


@dataclass(frozen=True, slots=True)
class Decoded:
    """The output of all tasks of a batch, by target."""

    counts: Mapping[str, int] = field(default_factory=dict)
    written: Mapping[str, Sequence[DataFile]] = field(default_factory=dict)
    rests: Mapping[str, pa.Table] = field(default_factory=dict)

    def has(self, target: str) -> bool:
        """Return True if there is any output for a target."""
        return target in self.written or target in self.rests

    def files(self, target: str) -> Sequence[DataFile]:
        """Return a target's files."""
        return self.written.get(target, ())

    def rest(self, target: str) -> pa.Table | None:
        """Return a target's rows that are not in files."""
        return self.rests.get(target)

    def lossy(self) -> LossyCounts:
        """Return the numbers of values that differ from what was logged."""
        rows = self.rest(LOSSY)
        return summed(COUNTS.empty_table() if rows is None else rows)


def together(
    tasks: Iterable[Written],
    destinations: Mapping[str, Destination],
    limits: Limits | None = None,
) -> Decoded:
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
    return Decoded(counts, files, merged.rest)


def _extend(files: dict[str, list[DataFile]], more: Mapping[str, Sequence[DataFile]]) -> None:
    for target, found in more.items():
        files.setdefault(target, []).extend(found)
