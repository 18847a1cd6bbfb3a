"""Write the hashes and keys of a server's rows to a folder of Parquet files.

Each file is sorted by table and chunk, so that reading a few chunks reads few of its row groups.
Several files can be read in parallel, unlike a single stream.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

import pyarrow as pa
import pyarrow.parquet as pq

from pipeline.lake import stores

PART_ROWS = 1 << 17
PART_BYTES = 16 << 20
"""The most rows of a file, and about the most bytes of its keys, held in memory until written."""
GROUP_ROWS = 1 << 13
SCHEMA = pa.schema(
    [
        pa.field("table", pa.int32()),
        pa.field("chunk", pa.int32()),
        pa.field("hash", pa.binary()),
        pa.field("key", pa.string()),
    ]
)
ORDER = [("table", "ascending"), ("chunk", "ascending")]


class StagedRows:
    """Writer of rows to files. `close` writes the last file; at least one is written."""

    def __init__(self, folder: str) -> None:
        self._folder = folder
        self._parts = 0
        self._forget()

    def keep(self, number: int, chunk: int, digest: bytes, key: str) -> None:
        """Add a row: the number of its table, its chunk, hash, and key as JSON."""
        self._tables.append(number)
        self._chunks.append(chunk)
        self._hashes.append(digest)
        self._keys.append(key)
        self._bytes += len(key)
        if len(self._keys) >= PART_ROWS or self._bytes >= PART_BYTES:
            self._write()

    def close(self) -> None:
        """Write the remaining rows."""
        if self._keys or not self._parts:
            self._write()

    def _write(self) -> None:
        columns = [self._tables, self._chunks, self._hashes, self._keys]
        arrays = [
            pa.array(values, type) for values, type in zip(columns, SCHEMA.types, strict=True)
        ]
        rows = pa.Table.from_arrays(arrays, schema=SCHEMA).sort_by(ORDER)
        with stores.binary(f"{self._folder}/part-{self._parts:05}.parquet") as out:
            pq.write_table(rows, out, row_group_size=GROUP_ROWS)
        self._parts += 1
        self._forget()

    def _forget(self) -> None:
        self._tables: list[int] = []
        self._chunks: list[int] = []
        self._hashes: list[bytes] = []
        self._keys: list[str] = []
        self._bytes = 0


@contextmanager
def staged_rows(folder: str) -> Iterator[StagedRows]:
    """Return a writer of rows to the folder; all are written after the block."""
    rows = StagedRows(folder)
    yield rows
    rows.close()
