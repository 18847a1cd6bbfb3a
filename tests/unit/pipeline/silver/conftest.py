"""Segments of the recorded binary logs, in the form in which Spark passes them to tasks."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path

import pyarrow as pa
import pytest

DATA = Path(__file__).parents[3] / "data"
Segments = Callable[..., Iterator[pa.RecordBatch]]


@pytest.fixture
def segments() -> Segments:
    """`segments("plain", parts=3)`: a recording as one segment, its content in this many parts."""

    def batches(name: str, *, ordinal: int = 1, parts: int = 1) -> Iterator[pa.RecordBatch]:
        content = (DATA / f"{name}.binlog").read_bytes()
        size = -(-len(content) // parts)
        head = content[4 : 4 + int.from_bytes(content[13:17], "little")]
        for part in range(parts):
            row = {
                "file": f"binlog.{ordinal:06}",
                "ordinal": ordinal,
                "start_pos": 0,
                "part": part,
                "transaction_pos": None,
                "preamble": head,
                "content": content[part * size : (part + 1) * size],
            }
            yield pa.RecordBatch.from_pylist([row], schema=SEGMENT_ROWS)

    return batches


SEGMENT_ROWS = pa.schema(
    [
        pa.field("file", pa.string()),
        pa.field("ordinal", pa.int64()),
        pa.field("start_pos", pa.int64()),
        pa.field("part", pa.int32()),
        pa.field("transaction_pos", pa.int64()),
        pa.field("preamble", pa.binary()),
        pa.field("content", pa.binary()),
    ]
)
