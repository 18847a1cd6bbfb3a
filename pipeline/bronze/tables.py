"""Bronze's two tables: their columns, and what files of them can be skipped by."""

from __future__ import annotations

import pyarrow as pa

from pipeline.lake import Lake
from pipeline.lake.delta_log.table import LakeTable

SEGMENTS = pa.schema(
    [
        pa.field("source", pa.string()),
        pa.field("file", pa.string()),
        # tells files of the same name apart: a name can come back after RESET
        pa.field("incarnation", pa.string()),
        pa.field("ordinal", pa.int64()),
        # [start_pos, end_pos) of the file; all parts of a segment have the segment's
        pa.field("start_pos", pa.int64()),
        pa.field("end_pos", pa.int64()),
        pa.field("part", pa.int32()),
        pa.field("preamble", pa.binary()),
        pa.field("content", pa.binary()),
        # of this row's content
        pa.field("sha256", pa.string()),
        # where the transaction starts that the segment begins in the middle of
        pa.field("transaction_pos", pa.int64()),
        # the end of a file whose server crashed, or padding: kept, but no whole transaction
        pa.field("incomplete", pa.bool_()),
        # events by type, in the row that is part 0, for the whole segment; so are the next five
        pa.field("events", pa.map_(pa.string(), pa.int64())),
        pa.field("transactions", pa.int64()),
        pa.field("first_committed_at", pa.timestamp("us", "UTC")),
        pa.field("last_committed_at", pa.timestamp("us", "UTC")),
        pa.field("gtids", pa.string()),
        # the events that silver's survey of definitions reads in place of the content (see
        # `decoder.stream.excerpt`), in the row that is part 0; null: it reads the content
        pa.field(
            "excerpt",
            pa.list_(pa.struct([pa.field("position", pa.int64()), pa.field("event", pa.binary())])),
        ),
        # bronze's batch that wrote it
        pa.field("batch", pa.int64()),
    ]
)

FILES = pa.schema(
    [
        pa.field("source", pa.string()),
        pa.field("file", pa.string()),
        pa.field("incarnation", pa.string()),
        pa.field("ordinal", pa.int64()),
        pa.field("path", pa.string()),
        # bytes, and the store's mark of the last change, when it was last looked at
        pa.field("size", pa.int64()),
        pa.field("modified", pa.string()),
        # open | complete | faulty
        pa.field("state", pa.string()),
        pa.field("complete", pa.bool_()),
        # a sentence: what is wrong, and what to do
        pa.field("fault", pa.string()),
        pa.field("ingested_upto", pa.int64()),
        # of the bytes ingested, with the in-use flag cleared: by it the prefix is known again
        pa.field("crc32", pa.int64()),
        # of the whole file, once complete
        pa.field("sha256", pa.string()),
        # whether the flag is set in the bytes that bronze holds
        pa.field("in_use", pa.bool_()),
        pa.field("server_version", pa.string()),
        pa.field("server_id", pa.int64()),
        pa.field("checksum", pa.string()),
        pa.field("previous_gtids", pa.string()),
        # of the whole transactions that are ingested; null in a relay log, which is another's
        pa.field("gtids", pa.string()),
        # seconds since the epoch: when the server began the file
        pa.field("begun", pa.int64()),
        # the server started with this file: the one before it may end without ROTATE or STOP
        pa.field("restarted", pa.bool_()),
        pa.field("batch", pa.int64()),
    ]
)


def segments_table(lake: Lake) -> LakeTable:
    """`bronze/segments`: the bytes of all sources."""
    statistics = ("source", "file", "ordinal", "start_pos", "end_pos", "part", "batch")
    return LakeTable(lake.segments, SEGMENTS, statistics=statistics)


def files_table(lake: Lake) -> LakeTable:
    """`bronze/files`: a row per file, by source."""
    return LakeTable(lake.files, FILES, partition_by=("source",))
