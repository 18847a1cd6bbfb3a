"""Bronze's two tables: their columns, and the statistics by which files are skipped."""

from __future__ import annotations

import pyarrow as pa

from pipeline.lake import Lake
from pipeline.lake.delta_log.table import LakeTable

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

FILES = pa.schema(
    [
        pa.field("source", pa.string()),
        pa.field("file", pa.string()),
        pa.field("incarnation", pa.string()),
        pa.field("ordinal", pa.int64()),
        pa.field("path", pa.string()),
        # bytes, and the store's modification mark, when the file was last scanned
        pa.field("size", pa.int64()),
        pa.field("modified", pa.string()),
        # open | complete | faulty
        pa.field("state", pa.string()),
        pa.field("complete", pa.bool_()),
        # a sentence: what is wrong and what to do
        pa.field("fault", pa.string()),
        pa.field("ingested_upto", pa.int64()),
        # of the ingested bytes, with the in-use flag cleared: to recognize the prefix again
        pa.field("crc32", pa.int64()),
        # SHA-256 of the whole file, once complete
        pa.field("sha256", pa.string()),
        # whether the in-use flag is set in the bytes in bronze
        pa.field("in_use", pa.bool_()),
        pa.field("server_version", pa.string()),
        pa.field("server_id", pa.int64()),
        pa.field("checksum", pa.string()),
        pa.field("previous_gtids", pa.string()),
        # of the whole transactions ingested; null for a relay log, whose server is another
        pa.field("gtids", pa.string()),
        # when the server began the file, in seconds since 1970
        pa.field("begun", pa.int64()),
        # the server started with this file: the previous one may end without ROTATE or STOP
        pa.field("restarted", pa.bool_()),
        pa.field("batch", pa.int64()),
    ]
)


def segments_table(lake: Lake) -> LakeTable:
    """Return `bronze/segments`, with the bytes of all sources."""
    statistics = ("source", "file", "ordinal", "start_pos", "end_pos", "part", "batch")
    return LakeTable(lake.segments, SEGMENTS, statistics=statistics)


def files_table(lake: Lake) -> LakeTable:
    """Return `bronze/files`, with a row per file, partitioned by source."""
    return LakeTable(lake.files, FILES, partition_by=("source",))
