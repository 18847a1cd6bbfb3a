"""The rows of `bronze/segments`, made from the bytes of planned cuts."""

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
from decoder.segments.statistics import Tally
from decoder.stream.excerpt import Excerpt
from pipeline.bronze.files import FileRow
from pipeline.bronze.tables import SEGMENTS
from pipeline.source.logs.resumed_file import ResumedFile
from pipeline.source.logs.storage import WINDOW

_CONTENT = SEGMENTS.get_field_index("content")


@dataclass(frozen=True, slots=True)
class Stretch:
    """A cut of a file to ingest, with all that its rows say."""

    row: FileRow
    cut: Cut
    incomplete: bool
    part_size: int | None
    batch: int
    cipher: StreamCipher | None = None
    codec: str | None = None

    @property
    def size(self) -> int:
        """Bytes."""
        return self.cut.end.position - self.cut.start.position


def segment_rows(stretches: Iterable[Stretch]) -> Iterator[pa.RecordBatch]:
    """The rows, each a batch that has its bytes as they were read."""
    for _, of_one_file in groupby(stretches, key=lambda stretch: stretch.row.path):
        for row in _rows_of_file(list(of_one_file)):
            content = pa.py_buffer(row["content"])
            offsets = pa.py_buffer(np.array([0, content.size], np.int32))
            cell = pa.Array.from_buffers(pa.binary(), 1, [None, offsets, content])
            batch = pa.RecordBatch.from_pylist([row | {"content": b""}], schema=SEGMENTS)
            yield batch.set_column(_CONTENT, SEGMENTS.field(_CONTENT), cell)


def _rows_of_file(stretches: Sequence[Stretch]) -> Iterator[dict[str, Any]]:
    """Opened once: what is compressed can only be read from its beginning on."""
    one = stretches[0]
    with ResumedFile(one.row.path, one.cipher, one.codec) as log:
        for stretch in stretches:
            yield from _rows(log, stretch)


def _rows(log: ResumedFile, stretch: Stretch) -> Iterator[dict[str, Any]]:
    """The rows of one segment. The tally is of all its parts, so that part 0 comes last."""
    cut, row = stretch.cut, stretch.row
    first: dict[str, Any] | None = None
    tally = _Tallying(stretch)
    crc = cut.start.crc
    for part, content in enumerate(_parts(log, stretch)):
        if part == 0:
            crc = zlib.crc32(masked(content, cut.start.position), crc)
            content = masked(content, cut.start.position, in_use=row.in_use)
        else:
            crc = zlib.crc32(content, crc)
        tally.add(content)
        values = _values(stretch, part, content)
        if part:
            yield values
        else:
            first = values
    if crc != cut.end.crc or first is None:
        raise BinlogError(
            "the bytes from here on are not those that were planned",
            file=row.file,
            position=cut.start.position,
        )
    yield first | tally.values()


def _parts(log: ResumedFile, stretch: Stretch) -> Iterator[bytes]:
    """The segment's bytes, whole or in parts, as far as the log has them."""
    end = stretch.cut.end.position
    size = stretch.part_size or stretch.size
    for position in range(stretch.cut.start.position, end, size):
        if content := log.read(position, min(size, end - position)):
            yield content


def masked(content: bytes, position: int, *, in_use: bool = False) -> bytes:
    """The bytes from `position` of the file on, with its in-use flag cleared (or set)."""
    if position or not has_in_use_flag(content[: FLAGS_POSITION + 1]):
        return content
    changed = bytearray(content)
    cleared = changed[FLAGS_POSITION] & (0xFF ^ EventFlag.BINLOG_IN_USE)
    changed[FLAGS_POSITION] = cleared | (EventFlag.BINLOG_IN_USE if in_use else 0)
    return bytes(changed)


class _Tallying:
    """Counts a segment's events on the way, and keeps its excerpt. A tail that is no whole
    transaction has neither."""

    def __init__(self, stretch: Stretch) -> None:
        self._stretch = stretch
        self._tally = Tally()
        self._excerpt = Excerpt()
        self._framer = Framer(verify=False)
        cut = stretch.cut
        self._description: FormatDescriptionEvent | None = None
        if cut.start.position and not stretch.incomplete:
            self._framer.resume(cut.start, cut.preamble, cut.transaction_pos)
            self._description = read_description(cut.preamble)

    def add(self, content: bytes) -> None:
        if self._stretch.incomplete:
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
        """The excerpt, if all of the segment was framed."""
        framer, events = self._framer, self._excerpt.events
        if framer.fault or framer.end.position != self._stretch.cut.end.position or events is None:
            return None
        return [{"position": position, "event": event} for position, event in events]


def _values(stretch: Stretch, part: int, content: bytes) -> dict[str, Any]:
    row, cut = stretch.row, stretch.cut
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
        "incomplete": stretch.incomplete,
        "batch": stretch.batch,
    }
