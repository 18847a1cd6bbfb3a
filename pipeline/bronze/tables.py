"""Bronze's two tables: their columns, and the statistics by which files are skipped."""

from __future__ import annotations

from dataclasses import dataclass, fields
from typing import Literal

import pyarrow as pa

from decoder.framing import Checkpoint
from pipeline.lake import Lake
from pipeline.lake.delta_log.model import LakeTable

SEGMENTS = pa.schema(
    [
        pa.field("source", pa.string()),
        pa.field("file", pa.string()),
        # distinguishes files of the same name: a name can be used again after RESET
        pa.field("incarnation", pa.string()),
        pa.field("ordinal", pa.int64()),
        # [start_pos, end_pos) in the file; the same for all parts of a segment
        pa.field("start_pos", pa.int64()),
        pa.field("end_pos", pa.int64()),
        pa.field("part", pa.int32()),
        pa.field("preamble", pa.binary()),
        pa.field("content", pa.binary()),
        # SHA-256 of this row's content
        pa.field("sha256", pa.string()),
        # start of the transaction in the middle of which the segment begins
        pa.field("transaction_pos", pa.int64()),
        # the end of a file after a server crash, or padding: kept, but not a whole transaction
        pa.field("incomplete", pa.bool_()),
        # only in part 0, for the whole segment, as are the next five: events by type
        pa.field("events", pa.map_(pa.string(), pa.int64())),
        pa.field("transactions", pa.int64()),
        pa.field("first_committed_at", pa.timestamp("us", "UTC")),
        pa.field("last_committed_at", pa.timestamp("us", "UTC")),
        pa.field("gtids", pa.string()),
        # the events that silver's survey of definitions reads instead of the content (see
        # `decoder.stream.excerpt`), only in part 0; null: it reads the content
        pa.field(
            "excerpt",
            pa.list_(pa.struct([pa.field("position", pa.int64()), pa.field("event", pa.binary())])),
        ),
        # the batch of bronze that wrote the row
        pa.field("batch", pa.int64()),
    ]
)


State = Literal["open", "complete", "faulty"]


@dataclass(frozen=True, slots=True)
class FileRow:
    """A row of `bronze/files`: the fields are the table's columns, in order."""

    source: str
    file: str
    incarnation: str
    ordinal: int
    path: str
    # bytes, and the store's modification tag, when the file was last scanned
    size: int
    modified: str
    state: State
    complete: bool
    # a sentence: what is wrong and what to do
    fault: str | None
    ingested_upto: int
    # of the ingested bytes, with the in-use flag cleared: to recognize the prefix again
    crc32: int
    # SHA-256 of the whole file, once complete
    sha256: str | None
    # whether the in-use flag is set in the bytes in bronze
    in_use: bool
    server_version: str
    server_id: int
    checksum: str
    previous_gtids: str | None
    # of the whole transactions ingested; null for a relay log, whose server is another
    gtids: str | None
    # when the server began the file, in seconds since 1970
    begun: int
    # the server started with this file: the previous one may end without ROTATE or STOP
    restarted: bool
    batch: int

    @property
    def stored(self) -> Checkpoint:
        """The end of the file's bytes in bronze."""
        return Checkpoint(self.ingested_upto, self.crc32)


_ARROW_TYPES = {
    "str": pa.string(),
    "str | None": pa.string(),
    "State": pa.string(),
    "int": pa.int64(),
    "bool": pa.bool_(),
}
FILES = pa.schema([pa.field(one.name, _ARROW_TYPES[str(one.type)]) for one in fields(FileRow)])


def segments_table(lake: Lake) -> LakeTable:
    """Return `bronze/segments`, with the bytes of all sources."""
    statistics = ("source", "file", "ordinal", "start_pos", "end_pos", "part", "batch")
    return LakeTable(lake.segments, SEGMENTS, statistics=statistics)


def files_table(lake: Lake) -> LakeTable:
    """Return `bronze/files`, partitioned by source."""
    return LakeTable(lake.files, FILES, partition_by=("source",))
