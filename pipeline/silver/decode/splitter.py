"""A segment without the transactions in it that the lake has already.

What is left of it are stretches of its bytes between those, each a segment that can be decoded
alone: no definition, statement or fault of what was there before is met.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, replace

import pyarrow as pa

from decoder import SegmentDecoder, TypeOptions
from decoder.constants import MAGIC
from decoder.model import schemas
from decoder.stream.segment_decoder import Segment, Transactions
from pipeline.source import GtidSet

Parts = Iterator[pa.Buffer]
Place = tuple[int, int]
"""A segment's ordinal and start."""
SEEN_BEFORE = pa.field("seen_before", pa.bool_())
_SIZE = slice(9, 13)
"""Of an event, in its header."""


@dataclass(frozen=True)
class Split:
    """A segment's stretches, in order, each with its bytes; `seen` are the other transactions."""

    stretches: Iterable[tuple[Segment, Parts]]
    seen: pa.RecordBatch | None = None


class Splitter:
    """Splits segments; `seen`: by the place of a segment, the GTIDs in it that the lake has."""

    def __init__(self, seen: Mapping[Place, str]) -> None:
        self._seen = seen

    def split(self, segment: Segment, parts: Parts) -> Split:
        """The segment as it is, where nothing in it was there before."""
        text = self._seen.get((segment.ordinal, segment.start_pos))
        if text is None:
            return Split([(segment, parts)])
        content = memoryview(b"".join(map(memoryview, parts)))
        transactions = _transactions(segment, content)
        gtids = GtidSet.of(text)
        known = [g is not None and g in gtids for g in transactions.column("gtid").to_pylist()]
        seen = transactions.filter(pa.array(known, pa.bool_()))
        return Split(_stretches(segment, content, transactions, known), seen)


def _transactions(segment: Segment, content: memoryview) -> pa.RecordBatch:
    """All transactions of a segment, in order, without what rows they hold."""
    decoder = SegmentDecoder(
        segment, TypeOptions(), rows=False, wanted=lambda _schema, _table: False
    )
    found = [r.batch for r in decoder.decode([content]) if isinstance(r, Transactions)]
    table = pa.Table.from_batches(found, schemas.TRANSACTIONS).sort_by("start_pos")
    batches: list[pa.RecordBatch] = table.combine_chunks().to_batches()
    return batches[0] if batches else pa.RecordBatch.from_pylist([], schema=schemas.TRANSACTIONS)


def _stretches(
    segment: Segment, content: memoryview, transactions: pa.RecordBatch, known: list[bool]
) -> Iterator[tuple[Segment, Parts]]:
    """Runs of transactions that are not known, with what stands between and around them."""
    starts = transactions.column("start_pos").to_pylist()
    begins = [segment.start_pos, *(max(start, segment.start_pos) for start in starts[1:])]
    stop = segment.start_pos + len(content)
    runs = [
        (begins[at], known[at]) for at in range(len(known)) if not at or known[at - 1] != known[at]
    ]
    last = transactions.column("end_pos")[-1].as_py() if known else segment.start_pos
    if last is not None and last < stop:
        runs.append((last, False))  # nothing that could not be framed is left out
    ends = [*(begin for begin, _ in runs[1:]), stop]
    for (begin, is_known), end in zip(runs, ends, strict=True):
        if not is_known:
            piece = content[begin - segment.start_pos : end - segment.start_pos]
            yield _begun_at(segment, content, begin), iter([pa.py_buffer(piece)])


def _begun_at(segment: Segment, content: memoryview, start: int) -> Segment:
    """What of a segment begins between two transactions."""
    if start == segment.start_pos:
        return segment
    head = segment.preamble or bytes(content[len(MAGIC) : 1 << 16])
    description = head[: int.from_bytes(head[_SIZE], "little")]
    return replace(segment, start_pos=start, transaction_pos=None, preamble=description)


def marked(transactions: pa.RecordBatch, *, seen: bool) -> pa.RecordBatch:
    """Transactions with whether they were there before: such a one is not committed here again."""
    count = transactions.num_rows
    if seen:
        at = transactions.schema.get_field_index("commit_lsn")
        nothing = pa.nulls(count, pa.int64())
        transactions = transactions.set_column(at, transactions.schema.field(at), nothing)
    return transactions.append_column(SEEN_BEFORE, pa.repeat(pa.scalar(seen), count))
