"""A seed's folder while it is filled: what was begun, and which chunks are done.

`begun.json` is written before the first row is read, and says all that whoever goes on with it has
to know. A chunk is done when its folder in `rows` has the mark of a writer that came to its end.
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
"""What Spark puts into a folder whose every file is whole."""
PATIENCE = 24 * 60 * 60
"""Seconds after which a seed that was begun is not gone on with: its log may be gone."""


@dataclass(frozen=True, slots=True)
class Begun:
    """A seed under way: of a table with this CREATE TABLE, from the place `file`, `position` on.

    `origin` tells what it is read from; `chunks` are conditions over the table's rows; `log` has
    what tells the log that the place is in (see `Seed`), by the names of its fields.
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
        """As `begun.json` has it."""
        return json.dumps(asdict(self))

    @classmethod
    def from_json(cls, text: bytes) -> Begun | None:
        """What `to_json` gave; None for what cannot be read: then all is read anew."""
        try:
            return _FORM.validate_json(text)
        except ValueError:
            return None


_FORM = TypeAdapter(Begun)


@dataclass(frozen=True, slots=True)
class SeedFolder:
    """The folder of one seed of a source."""

    lake: Lake
    source: str
    id: str

    @property
    def path(self) -> str:
        """Where it is."""
        return f"{self.lake.seeds(self.source)}/{self.id}"

    @property
    def rows(self) -> str:
        """Where its rows are, a folder for each chunk."""
        return rows_folder(self.lake, self.source, self.id)

    def attempt(self, number: int) -> str:
        """A new folder for the rows of a chunk: another run may be reading it, too."""
        return f"{self.rows}/{number:06d}/{uuid4().hex}"

    @property
    def is_whole(self) -> bool:
        """Whether nothing of it is left to be read."""
        return stores.exists(f"{self.path}/{MANIFEST}")

    def begin(self, begun: Begun) -> None:
        """Keep what is begun."""
        stores.write(f"{self.path}/{BEGUN}", begun.to_json().encode())

    def done(self, number: int) -> str | None:
        """A folder in `rows` that has all of a chunk, if there is one."""
        chunk = f"{number:06d}"
        for attempt in sorted(stores.names_in(f"{self.rows}/{chunk}")):
            if stores.exists(f"{self.rows}/{chunk}/{attempt}/{DONE}"):
                return f"{chunk}/{attempt}"
        return None

    def parts(self, name: TableName, chunks: int) -> tuple[str, ...]:
        """One such folder for each of so many chunks of a table, all of which were done.

        Raises NotSeedableError where one is gone: what is left would pass for the whole table.
        """
        found = [self.done(number) for number in range(chunks)]
        there = tuple(part for part in found if part is not None)
        if len(there) < chunks:
            raise NotSeedableError(
                name,
                f"{chunks - len(there)} of its {chunks} chunks are gone from {self.rows} again:"
                " somebody, or maintenance that took it for abandoned, has removed them",
                "Run it again.",
            )
        return there

    def remove(self) -> None:
        """Remove all of it."""
        stores.remove(self.path)

    def write(self, number: int, schema: pa.Schema, batches: Iterable[pa.RecordBatch]) -> None:
        """Write a chunk's rows without Spark; it is not done if they were removed meanwhile."""
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
    """The last seed of a table that was begun a short while ago and is not whole, if there is one
    with these fields."""
    for one in reversed(ids_of(lake, source, name)):
        folder = SeedFolder(lake, source, one)
        text = stores.content(f"{folder.path}/{BEGUN}")
        begun = Begun.from_json(text) if text is not None else None
        if begun is None or begun.at + PATIENCE < time.time() or folder.is_whole:
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
    """A seed that begins."""
    return Begun(new_id(name), origin, query, *place, tuple(chunks), types, time.time(), log)
