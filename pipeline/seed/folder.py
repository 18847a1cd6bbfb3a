"""The folder of a seed that is being filled: its parameters, and which chunks are complete.

`begun.json` is written before the first row is read and has everything needed to resume. A chunk is
complete when its folder in `rows` has the `_SUCCESS` file of a writer that finished.
"""

from __future__ import annotations

import json
import time
from collections.abc import Iterable, Sequence
from dataclasses import asdict, dataclass, field
from typing import Any
from uuid import uuid4

import pyarrow as pa
import pyarrow.parquet as pq
from pydantic import TypeAdapter

from pipeline.catalog import TableName
from pipeline.lake import Lake, stores
from pipeline.seed.source_table import NotSeedableError
from pipeline.silver.plan.seeds import MANIFEST, ids_of, new_id, rows_folder

BEGUN = "begun.json"
DONE = "_SUCCESS"
"""The file that Spark writes into a folder once all other files are complete."""
PATIENCE = 24 * 60 * 60
"""Seconds after which an unfinished seed is not resumed: its log may have been purged."""


@dataclass(frozen=True, slots=True)
class Begun:
    """A seed in progress, of a table with the CREATE TABLE `query`, from `file`:`position` on.

    `origin`: identifies the server or dump. `chunks`: a WHERE condition, or a name, for each chunk.
    `types`: the type options. `at`: the start, in seconds since 1970. `log`: the fields of `Seed`
    that identify the log.
    """

    id: str
    origin: str
    query: str
    file: str
    position: int
    chunks: tuple[str, ...]
    types: dict[str, str]
    at: float
    log: dict[str, Any] = field(default_factory=dict)

    def to_json(self) -> str:
        """Return the content of `begun.json`."""
        return json.dumps(asdict(self))

    @classmethod
    def from_json(cls, text: bytes) -> Begun | None:
        """Parse `begun.json`; None if it is damaged, in which case the seed starts over."""
        try:
            return _FORM.validate_json(text)
        except ValueError:
            return None


_FORM = TypeAdapter(Begun)


@dataclass(frozen=True, slots=True)
class SeedFolder:
    """The folder of one seed."""

    lake: Lake
    source: str
    id: str

    @property
    def path(self) -> str:
        """Its path in the lake."""
        return f"{self.lake.seeds(self.source)}/{self.id}"

    @property
    def rows(self) -> str:
        """The path of its rows, with a folder for each chunk."""
        return rows_folder(self.lake, self.source, self.id)

    def attempt(self, number: int) -> str:
        """Return the path of a new folder for a chunk's rows, since other runs may write it too."""
        return f"{self.rows}/{number:06d}/{uuid4().hex}"

    @property
    def is_complete(self) -> bool:
        """True if all its rows have been read."""
        return stores.exists(f"{self.path}/{MANIFEST}")

    def begin(self, begun: Begun) -> None:
        """Write `begun.json`."""
        stores.write(f"{self.path}/{BEGUN}", begun.to_json().encode())

    def done(self, number: int) -> str | None:
        """Return the folder in `rows` of a complete attempt at a chunk; None if there is none."""
        chunk = f"{number:06d}"
        for attempt in sorted(stores.names_in(f"{self.rows}/{chunk}")):
            if stores.exists(f"{self.rows}/{chunk}/{attempt}/{DONE}"):
                return f"{chunk}/{attempt}"
        return None

    def parts(self, name: TableName, chunks: int) -> tuple[str, ...]:
        """Return the folder in `rows` of each of a table's `chunks` chunks, all written before.

        Raises NotSeedableError if one is missing: the others would pass for the whole table.
        """
        found = [self.done(number) for number in range(chunks)]
        there = tuple(part for part in found if part is not None)
        if len(there) < chunks:
            raise NotSeedableError(
                name,
                f"{chunks - len(there)} of its {chunks} chunks have disappeared from {self.rows}:"
                " maintenance removed them as abandoned, or somebody deleted them",
                "Seed it again.",
            )
        return there

    def remove(self) -> None:
        """Remove the folder."""
        stores.remove(self.path)

    def write(self, number: int, schema: pa.Schema, batches: Iterable[pa.RecordBatch]) -> None:
        """Write a chunk's rows without Spark; incomplete if they are removed meanwhile."""
        folder = self.attempt(number)
        rows = f"{folder}/rows.parquet"
        with (
            stores.binary(rows) as out,
            pq.ParquetWriter(out, schema, compression="zstd") as writer,
        ):
            for batch in batches:
                writer.write_batch(batch)
        if stores.exists(rows):
            stores.write(f"{folder}/{DONE}", b"")


def under_way(lake: Lake, source: str, name: TableName, **same: object) -> Begun | None:
    """Return a table's latest unfinished seed that was started within PATIENCE seconds and has
    these fields; None if there is none."""
    for one in reversed(ids_of(lake, source, name)):
        folder = SeedFolder(lake, source, one)
        text = stores.content(f"{folder.path}/{BEGUN}")
        begun = Begun.from_json(text) if text is not None else None
        if begun is None or begun.at + PATIENCE < time.time() or folder.is_complete:
            continue
        if all(getattr(begun, field) == value for field, value in same.items()):
            return begun
    return None


def begun_now(
    name: TableName,
    origin: str,
    query: str,
    place: tuple[str, int],
    chunks: Sequence[str],
    types: dict[str, str],
    log: dict[str, Any],
) -> Begun:
    """Return the parameters of a seed that starts now."""
    return Begun(new_id(name), origin, query, *place, tuple(chunks), types, time.time(), log)
