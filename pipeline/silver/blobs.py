"""Record batches packed as bytes: what passes from decoding to the tables through staging.

One job decodes rows of every table at once, but a Spark job has one schema. So batches travel as
Arrow IPC streams in a binary column, beside the name of what they are for, and are unpacked by the
job that writes their table.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field

import numpy as np
import pyarrow as pa

MIB = 1 << 20
BLOB_BYTES = 4 * MIB
"""A blob is closed when its batches are this large, before compression."""
OPEN_BYTES = 48 * MIB
"""What all open blobs of a worker may hold; beyond, the largest is closed."""

BLOBS = pa.schema(
    [
        pa.field("target", pa.string(), nullable=False),
        pa.field("rows", pa.int64(), nullable=False),
        pa.field("blob", pa.binary(), nullable=False),
    ]
)

_COMPRESSED = pa.ipc.IpcWriteOptions(compression="lz4")


@dataclass(slots=True)
class _Open:
    batches: list[pa.RecordBatch] = field(default_factory=list)
    bytes: int = 0


class Packer:
    """Collects batches by target and gives rows of `BLOBS` whenever enough came together."""

    def __init__(self, blob_bytes: int = BLOB_BYTES, open_bytes: int = OPEN_BYTES) -> None:
        self._blob_bytes = blob_bytes
        self._open_bytes = open_bytes
        self._open: dict[str, _Open] = {}
        self._total = 0

    def add(self, target: str, batch: pa.RecordBatch) -> Iterator[pa.RecordBatch]:
        """Take a batch (all of one target have one schema); gives the blobs that this closes."""
        if batch.num_rows == 0:
            return
        open_blob = self._open.setdefault(target, _Open())
        open_blob.batches.append(batch)
        size = batch.nbytes
        open_blob.bytes += size
        self._total += size
        if open_blob.bytes >= self._blob_bytes:
            yield self._close(target)
        while self._total > self._open_bytes:
            yield self._close(max(self._open, key=lambda name: self._open[name].bytes))

    def finish(self) -> Iterator[pa.RecordBatch]:
        """Close all that is open."""
        for target in list(self._open):
            yield self._close(target)

    def _close(self, target: str) -> pa.RecordBatch:
        closed = self._open.pop(target)
        self._total -= closed.bytes
        rows = sum(batch.num_rows for batch in closed.batches)
        return pa.RecordBatch.from_arrays(
            [
                pa.array([target], pa.string()),
                pa.array([rows], pa.int64()),
                _binary(_pack(closed.batches)),
            ],
            schema=BLOBS,
        )


def _pack(batches: list[pa.RecordBatch]) -> pa.Buffer:
    sink = pa.BufferOutputStream()
    with pa.ipc.new_stream(sink, batches[0].schema, options=_COMPRESSED) as writer:
        for batch in batches:
            writer.write_batch(batch)
    return sink.getvalue()


def _binary(value: pa.Buffer) -> pa.Array:
    """An array of one value, without a copy of it."""
    offsets = pa.py_buffer(np.array([0, value.size], np.int32))
    return pa.Array.from_buffers(pa.binary(), 1, [None, offsets, value])


def unpack(blobs: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    """The batches in a `blob` column; a function for `mapInArrow`."""
    for rows in blobs:
        for blob in rows.column("blob"):
            with pa.ipc.open_stream(blob.as_buffer()) as reader:
                yield from reader
