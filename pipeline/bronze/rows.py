"""Rows of `bronze/segments` from the bytes of planned cuts."""

from __future__ import annotations

import hashlib
import zlib
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import groupby
from typing import Any

import numpy as np
import pyarrow as pa

from decoder import BinlogError, Framer
from decoder.constants import EventFlag
from decoder.encryption.stream_cipher import StreamCipher
from decoder.events.format_description import FormatDescriptionEvent
from decoder.segments.framer import FLAGS_POSITION, has_in_use_flag
from decoder.segments.log_header import read_description
from decoder.segments.segmenter import Cut
from decoder.segments.statistics import EventStatistics
from decoder.stream.excerpt import Excerpt
from pipeline.bronze.tables import SEGMENTS, FileRow
from pipeline.source.logs.storage import WINDOW, ResumedFile

_CONTENT = SEGMENTS.get_field_index("content")


@dataclass(frozen=True, slots=True)
class PlannedSegment:
    """A cut of a file to ingest, with the values for its rows.

    `incomplete`: the cut is not made of whole transactions. `part_size`: the size of the parts that
    it is split into; None for a single row.
    """

    row: FileRow
    cut: Cut
    incomplete: bool
    part_size: int | None
    batch: int
    cipher: StreamCipher | None = None
    codec: str | None = None

    @property
    def size(self) -> int:
        """The segment's size in bytes."""
        return self.cut.end.position - self.cut.start.position


def segment_rows(segments: Iterable[PlannedSegment]) -> Iterator[pa.RecordBatch]:
    """Yield each row as a batch of its own, without copying the bytes read."""
    for _, of_one_file in groupby(segments, key=lambda segment: segment.row.path):
        for row in _rows_of_file(list(of_one_file)):
            content = pa.py_buffer(row["content"])
            offsets = pa.py_buffer(np.array([0, content.size], np.int32))
            cell = pa.Array.from_buffers(pa.binary(), 1, [None, offsets, content])
            batch = pa.RecordBatch.from_pylist([row | {"content": b""}], schema=SEGMENTS)
            yield batch.set_column(_CONTENT, SEGMENTS.field(_CONTENT), cell)


def _rows_of_file(segments: Sequence[PlannedSegment]) -> Iterator[dict[str, Any]]:
    """Yield the rows of one file, opened once: a compressed file is read from its beginning."""
    one = segments[0]
    with ResumedFile(one.row.path, one.cipher, one.codec) as log:
        for segment in segments:
            yield from _rows(log, segment)


def _rows(log: ResumedFile, segment: PlannedSegment) -> Iterator[dict[str, Any]]:
    """Yield the rows of one segment; part 0 comes last, since it has the totals of all parts."""
    cut, row = segment.cut, segment.row
    first: dict[str, Any] | None = None
    statistics = _SegmentStatistics(segment)
    crc = cut.start.crc
    for part, content in enumerate(_parts(log, segment)):
        if part == 0:
            crc = zlib.crc32(masked(content, cut.start.position), crc)
            content = masked(content, cut.start.position, in_use=row.in_use)
        else:
            crc = zlib.crc32(content, crc)
        statistics.add(content)
        values = _values(segment, part, content)
        if part:
            yield values
        else:
            first = values
    if crc != cut.end.crc or first is None:
        raise BinlogError(
            "the bytes from here on have changed since they were planned",
            file=row.file,
            position=cut.start.position,
        )
    yield first | statistics.values()


def _parts(log: ResumedFile, segment: PlannedSegment) -> Iterator[bytes]:
    """Yield the segment's bytes, whole or in parts, as far as the log has them."""
    end = segment.cut.end.position
    size = segment.part_size or segment.size
    for position in range(segment.cut.start.position, end, size):
        if content := log.read(position, min(size, end - position)):
            yield content


def masked(content: bytes, position: int, *, in_use: bool = False) -> bytes:
    """Return the bytes from `position` of a file with the file's in-use flag cleared (or set)."""
    if position or not has_in_use_flag(content[: FLAGS_POSITION + 1]):
        return content
    changed = bytearray(content)
    cleared = changed[FLAGS_POSITION] & (0xFF ^ EventFlag.BINLOG_IN_USE)
    changed[FLAGS_POSITION] = cleared | (EventFlag.BINLOG_IN_USE if in_use else 0)
    return bytes(changed)


class _SegmentStatistics:
    """Counts a segment's events and collects its excerpt, but not for an incomplete tail."""

    def __init__(self, segment: PlannedSegment) -> None:
        self._segment = segment
        self._tally = EventStatistics()
        self._excerpt = Excerpt()
        self._framer = Framer(verify=False)
        cut = segment.cut
        self._description: FormatDescriptionEvent | None = None
        if cut.start.position and not segment.incomplete:
            self._framer.resume(cut.start, cut.preamble, cut.transaction_pos)
            self._description = read_description(cut.preamble)

    def add(self, content: bytes) -> None:
        if self._segment.incomplete:
            return
        if self._description is None:
            self._description = read_description(content)
        for start in range(0, len(content), WINDOW):
            for window in self._framer.feed(content[start : start + WINDOW]):
                self._tally.add([window], self._description)
                self._excerpt.add(window)

    def values(self) -> dict[str, Any]:
        tally = self._tally
        return {
            "events": tally.events,
            "transactions": tally.transactions,
            "first_committed_at": tally.first_committed_at,
            "last_committed_at": tally.last_committed_at,
            "gtids": tally.gtid_text,
            "excerpt": self._events(),
        }

    def _events(self) -> list[dict[str, Any]] | None:
        """Return the excerpt; None unless the whole segment was framed."""
        framer, events = self._framer, self._excerpt.events
        if framer.fault or framer.end.position != self._segment.cut.end.position or events is None:
            return None
        return [{"position": position, "event": event} for position, event in events]


def _values(segment: PlannedSegment, part: int, content: bytes) -> dict[str, Any]:
    row, cut = segment.row, segment.cut
    return {
        "source": row.source,
        "file": row.file,
        "incarnation": row.incarnation,
        "ordinal": row.ordinal,
        "start_pos": cut.start.position,
        "end_pos": cut.end.position,
        "part": part,
        "preamble": cut.preamble,
        "content": content,
        "sha256": hashlib.sha256(content).hexdigest(),
        "transaction_pos": cut.transaction_pos,
        "incomplete": segment.incomplete,
        "batch": segment.batch,
    }
