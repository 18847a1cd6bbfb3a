"""Compressed files as users have them: `pack(codec, log)`."""

from __future__ import annotations

import gzip
from functools import cache

import pyarrow as pa

SUFFIXES = {"gzip": ".gz", "zstd": ".zst", "lz4": ".lz4"}
"""File name suffixes, by codec."""


@cache
def pack(codec: str, log: bytes) -> bytes:
    """Return the bytes of a file written by `gzip`, `zstd` or `lz4`."""
    if codec == "gzip":
        return gzip.compress(log, mtime=0)
    sink = pa.BufferOutputStream()
    with pa.CompressedOutputStream(sink, codec) as stream:
        stream.write(log)
    packed: bytes = sink.getvalue().to_pybytes()
    return packed
