"""A table's rows in chunks that gold and the server know alike, and what each chunk comes to.

A chunk has the rows whose keys have the same remainder of a CRC-32 of their canonical texts: not a
range of the key, since Spark orders text otherwise than a server's collations do
(docs/contributing/decisions/0023). Rows of a table without a key are dealt by their own hashes:
equal rows are in one chunk, however many there are.

Needs nothing but Python, since it runs beside the source's server too.
"""

from __future__ import annotations

import zlib
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from typing import NamedTuple

from pipeline.verify.canonical import MODULUS, Text, hashed_text

CHUNK_ROWS = 10_000
"""About how many rows a chunk of a large table has: so many are looked at where one differs."""
FEW = 1 << 6
FEWEST_BELOW = ((10_000, 1 << 4), (100_000, FEW))
"""By the rows that the server takes a table to have: at least so many chunks. A lake may have
thousands of small tables, and their sums are all held."""
FEWEST, MOST = 1 << 10, 1 << 16
"""A larger one has at least so many, since servers only estimate its rows; many are empty."""


class ChunkSum(NamedTuple):
    """The rows of a chunk, and the sum of their hashes modulo `MODULUS`."""

    rows: int
    total: int


class Chunking(NamedTuple):
    """Into how many chunks a table is parted, and the places of its key's columns (none: a bag)."""

    parts: int = 1
    key: tuple[int, ...] = ()

    def chunk(self, texts: Sequence[Text], digest: bytes) -> int:
        """The chunk of a row with these canonical texts, and this hash of all of them."""
        if self.parts == 1:
            return 0
        if not self.key:
            return int.from_bytes(digest, "big") % self.parts
        return zlib.crc32(hashed_text(texts[n] for n in self.key)) % self.parts


WHOLE = Chunking()
"""All rows in one chunk."""


class ChunkSums:
    """Sums that rows are added to, by chunk; chunks without rows have none."""

    def __init__(self) -> None:
        self._rows: defaultdict[int, int] = defaultdict(int)
        self._totals: defaultdict[int, int] = defaultdict(int)

    def add(self, chunk: int, digest: bytes) -> None:
        """Count a row."""
        self._rows[chunk] += 1
        self._totals[chunk] += int.from_bytes(digest, "big")

    def join(self, chunk: int, rows: int, total: int) -> None:
        """Count some rows, of which the sum of hashes is known."""
        self._rows[chunk] += rows
        self._totals[chunk] += total

    def __iter__(self) -> Iterator[tuple[int, ChunkSum]]:
        for chunk in sorted(self._rows):
            yield chunk, ChunkSum(self._rows[chunk], self._totals[chunk] % MODULUS)


def chunk_count(rows: int) -> int:
    """How many chunks a table of about so many rows is parted into: a power of two."""
    for below, chunks in FEWEST_BELOW:
        if rows < below:
            return chunks
    wanted = rows // CHUNK_ROWS
    return min(max(FEWEST, 1 << (wanted - 1).bit_length()), MOST)


def together(chunks: Mapping[int, ChunkSum]) -> ChunkSum:
    """What a table comes to."""
    sums = chunks.values()
    return ChunkSum(sum(one.rows for one in sums), sum(one.total for one in sums) % MODULUS)


def differing(some: Mapping[int, ChunkSum], others: Mapping[int, ChunkSum]) -> tuple[int, ...]:
    """The chunks that are not the same on both sides, in order."""
    both = some.keys() | others.keys()
    return tuple(chunk for chunk in sorted(both) if some.get(chunk) != others.get(chunk))
