"""Remove from a segment the transactions that the lake already has.

The remaining pieces of its bytes are each a segment that can be decoded alone, so the definitions,
statements and faults of removed transactions are never seen.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, replace

import pyarrow as pa

from decoder import Segment, SegmentDecoder, TypeOptions, schemas
from decoder.constants import MAGIC
from decoder.model import Transactions
from pipeline.source import GtidSet

Parts = Iterator[pa.Buffer]
SegmentStart = tuple[int, int]
"""A segment's ordinal and start."""
SEEN_BEFORE = pa.field("seen_before", pa.bool_())
_SIZE = slice(9, 13)
"""The event's size in its header."""


@dataclass(frozen=True)
class Split:
    """A segment's remaining pieces in order, with their bytes; `seen`: the removed transactions."""

    pieces: Iterable[tuple[Segment, Parts]]
    seen: pa.RecordBatch | None = None


class Splitter:
    """A splitter of segments; `seen`: by segment, the GTIDs in it that the lake already has."""

    def __init__(self, seen: Mapping[SegmentStart, str]) -> None:
        self._seen = seen

    def split(self, segment: Segment, parts: Parts) -> Split:
        """Return the pieces of a segment; the whole segment if the lake has none of it."""
        text = self._seen.get((segment.ordinal, segment.start_pos))
        if text is None:
            return Split([(segment, parts)])
        content = memoryview(b"".join(map(memoryview, parts)))
        transactions = _transactions(segment, content)
        gtids = GtidSet.of(text)
        known = [g is not None and g in gtids for g in transactions.column("gtid").to_pylist()]
        seen = transactions.filter(pa.array(known, pa.bool_()))
        return Split(_pieces(segment, content, transactions, known), seen)


def _transactions(segment: Segment, content: memoryview) -> pa.RecordBatch:
    """Return all transactions of a segment, in order, without their rows."""
    decoder = SegmentDecoder(
        segment, TypeOptions(), rows=False, wanted=lambda _schema, _table: False
    )
    found = [r.batch for r in decoder.decode([content]) if isinstance(r, Transactions)]
    table = pa.Table.from_batches(found, schemas.TRANSACTIONS).sort_by("start_pos")
    batches: list[pa.RecordBatch] = table.combine_chunks().to_batches()
    return batches[0] if batches else pa.RecordBatch.from_pylist([], schema=schemas.TRANSACTIONS)


def _pieces(
    segment: Segment, content: memoryview, transactions: pa.RecordBatch, known: list[bool]
) -> Iterator[tuple[Segment, Parts]]:
    """Yield runs of new transactions, with the events between and around them."""
    starts = transactions.column("start_pos").to_pylist()
    run_starts = [segment.start_pos, *(max(start, segment.start_pos) for start in starts[1:])]
    stop = segment.start_pos + len(content)
    runs = [
        (run_starts[n], known[n]) for n in range(len(known)) if not n or known[n - 1] != known[n]
    ]
    last = transactions.column("end_pos")[-1].as_py() if known else segment.start_pos
    if last is not None and last < stop:
        runs.append((last, False))  # keep bytes that could not be framed
    ends = [*(begin for begin, _ in runs[1:]), stop]
    for (begin, is_known), end in zip(runs, ends, strict=True):
        if not is_known:
            piece = content[begin - segment.start_pos : end - segment.start_pos]
            yield _segment_at(segment, content, begin), iter([pa.py_buffer(piece)])


def _segment_at(segment: Segment, content: memoryview, start: int) -> Segment:
    """Return the rest of a segment from between two transactions on."""
    if start == segment.start_pos:
        return segment
    head = segment.preamble or bytes(content[len(MAGIC) : 1 << 16])
    description = head[: int.from_bytes(head[_SIZE], "little")]
    return replace(segment, start_pos=start, transaction_pos=None, preamble=description)


def with_seen_before(transactions: pa.RecordBatch, *, seen: bool) -> pa.RecordBatch:
    """Add the column `seen_before` to transactions; seen ones are not committed here again."""
    count = transactions.num_rows
    if seen:
        at = transactions.schema.get_field_index("commit_lsn")
        nothing = pa.nulls(count, pa.int64())
        transactions = transactions.set_column(at, transactions.schema.field(at), nothing)
    return transactions.append_column(SEEN_BEFORE, pa.repeat(pa.scalar(seen), count))
