"""Assign a table's rows to the same chunks in gold and on the server, and sum each chunk's hashes.

A row's chunk is the CRC-32 of its key's canonical texts modulo the number of chunks. It is not a
range of the key, since Spark sorts text differently from a server's collations (decision 0023).
Rows of a keyless table are assigned by their own hash, so that equal rows are in one chunk.

Uses only the standard library, since it also runs on the source's server.
"""

from __future__ import annotations

import zlib
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from typing import NamedTuple

from pipeline.verify.canonical import MODULUS, CanonicalText, hashed_text

CHUNK_ROWS = 10_000
"""Rows of a chunk of a large table, about: what is read if one row differs."""
FEW = 1 << 6
FEWEST_BELOW = ((10_000, 1 << 4), (100_000, FEW))
"""Numbers of chunks of tables with estimated rows below a limit. Small, since a lake may have
thousands of small tables, and all their sums are held in memory."""
FEWEST, MOST = 1 << 10, 1 << 16
"""Bounds for larger tables. Servers only estimate rows; unused chunks are empty."""


class ChunkSum(NamedTuple):
    """The number of rows in a chunk, and the sum of their hashes modulo `MODULUS`."""

    rows: int
    total: int


class Chunking(NamedTuple):
    """The number of chunks of a table, and the indices of its key columns (none if keyless)."""

    parts: int = 1
    key: tuple[int, ...] = ()

    def chunk(self, texts: Sequence[CanonicalText], digest: bytes) -> int:
        """Return the chunk of a row, by its canonical texts and their hash."""
        if self.parts == 1:
            return 0
        if not self.key:
            return int.from_bytes(digest, "big") % self.parts
        return zlib.crc32(hashed_text(texts[n] for n in self.key)) % self.parts


WHOLE = Chunking()
"""All rows in one chunk."""


class ChunkSums:
    """Running sums of chunks; iterates over those with rows, in order."""

    def __init__(self) -> None:
        self._rows: defaultdict[int, int] = defaultdict(int)
        self._totals: defaultdict[int, int] = defaultdict(int)

    def add(self, chunk: int, digest: bytes) -> None:
        """Add a row."""
        self._rows[chunk] += 1
        self._totals[chunk] += int.from_bytes(digest, "big")

    def join(self, chunk: int, rows: int, total: int) -> None:
        """Add rows by their count and their sum of hashes."""
        self._rows[chunk] += rows
        self._totals[chunk] += total

    def __iter__(self) -> Iterator[tuple[int, ChunkSum]]:
        for chunk in sorted(self._rows):
            yield chunk, ChunkSum(self._rows[chunk], self._totals[chunk] % MODULUS)


def chunk_count(rows: int) -> int:
    """Return the number of chunks for a table of about `rows` rows: a power of two."""
    for below, chunks in FEWEST_BELOW:
        if rows < below:
            return chunks
    wanted = rows // CHUNK_ROWS
    return min(max(FEWEST, 1 << (wanted - 1).bit_length()), MOST)


def table_sum(chunks: Mapping[int, ChunkSum]) -> ChunkSum:
    """Return the sum over all of a table's chunks."""
    sums = chunks.values()
    return ChunkSum(sum(one.rows for one in sums), sum(one.total for one in sums) % MODULUS)


def differing(some: Mapping[int, ChunkSum], others: Mapping[int, ChunkSum]) -> tuple[int, ...]:
    """Return the chunks whose sums differ, in order."""
    both = some.keys() | others.keys()
    return tuple(chunk for chunk in sorted(both) if some.get(chunk) != others.get(chunk))
