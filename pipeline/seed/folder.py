"""The folder of a seed that is being filled: its parameters, and which chunks are complete.

`begun.json` is written before the first row is read and has everything needed to resume. A chunk is
complete when its folder in `rows` has the `_SUCCESS` file of a writer that finished. Several are
written in parallel, each by a job of its own that can be retried.
"""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Iterable
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import asdict, dataclass, field
from typing import Any
from uuid import uuid4

import pyarrow as pa
import pyarrow.parquet as pq
from pydantic import TypeAdapter
from pyspark.sql import DataFrame

from decoder import TableDefinition
from pipeline.errors import sentence_of
from pipeline.lake import Lake, stores
from pipeline.layer import LayerRun
from pipeline.schema_history import TableName
from pipeline.seed.source_table import NotSeedableError
from pipeline.silver.plan.stored_seeds import MANIFEST, Seed, ids_of, rows_folder, staged_schema

BEGUN = "begun.json"
DONE = "_SUCCESS"
"""The file that Spark writes into a folder once all other files are complete."""
PATIENCE = 24 * 60 * 60
"""Seconds after which an unfinished seed is not resumed: its log may have been purged."""


@dataclass(frozen=True, slots=True)
class SeedProgress:
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
    at: float = field(default_factory=time.time)
    log: dict[str, Any] = field(default_factory=dict)


_FORM = TypeAdapter(SeedProgress)

Read = Callable[[int], DataFrame]
"""Returns the rows of a chunk, given its number, in the staged schema."""


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

    def begin(self, begun: SeedProgress) -> None:
        """Write `begun.json`."""
        stores.write(f"{self.path}/{BEGUN}", json.dumps(asdict(begun)).encode())

    def begun(self) -> SeedProgress | None:
        """Return the content of `begun.json`; None if it is missing or damaged."""
        text = stores.content(f"{self.path}/{BEGUN}")
        try:
            return None if text is None else _FORM.validate_json(text)
        except ValueError:
            return None

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
            )
        return there

    def remove(self) -> None:
        """Remove the folder."""
        stores.remove(self.path)

    def write(self, number: int, schema: pa.Schema, batches: Iterable[pa.RecordBatch]) -> int:
        """Write a chunk's rows without Spark, and return their number.

        The chunk stays incomplete if they are removed meanwhile.
        """
        folder, written = self.attempt(number), 0
        rows = f"{folder}/rows.parquet"
        with (
            stores.binary(rows) as out,
            pq.ParquetWriter(out, schema, compression="zstd") as writer,
        ):
            for batch in batches:
                writer.write_batch(batch)
                written += batch.num_rows
        if stores.exists(rows):
            stores.write(f"{folder}/{DONE}", b"")
        return written


def under_way(lake: Lake, source: str, name: TableName, **same: object) -> SeedProgress | None:
    """Return a table's latest unfinished seed that was started within PATIENCE seconds and has
    these fields; None if there is none."""
    for one in reversed(ids_of(lake, source, name)):
        folder = SeedFolder(lake, source, one)
        begun = folder.begun()
        if begun is None or begun.at + PATIENCE < time.time() or folder.is_complete:
            continue
        if all(getattr(begun, field) == value for field, value in same.items()):
            return begun
    return None


def fill(run: LayerRun, name: TableName, begun: SeedProgress, read: Read) -> SeedFolder:
    """Write every chunk that is not there yet. Raises NotSeedableError."""
    folder = SeedFolder(run.lake, run.source, begun.id)
    left = [n for n in range(len(begun.chunks)) if folder.done(n) is None]

    def put(number: int) -> None:
        rows = read(number).write.option("compression", "zstd")
        rows.parquet(folder.attempt(number))
        task.advance()

    tasks = run.progress.task(f"seeding {name}", len(left), "chunks")
    with tasks as task, ThreadPoolExecutor(run.settings.seed.parallel) as pool:
        _all(name, [pool.submit(put, number) for number in left])
    return folder


def _all(name: TableName, chunks: list[Future[None]]) -> None:
    """Wait for all chunks; if one fails or the run is interrupted, only for those started."""
    try:
        for one in chunks:
            one.result()
    except Exception as error:  # errors from Java have no common Python class
        raise NotSeedableError(
            name,
            f"a chunk could not be read: {sentence_of(error)}",
            "Fix the cause if it is not transient, and run the command again: it resumes after the"
            " chunks already read.",
        ) from error
    finally:
        for one in chunks:
            one.cancel()


def filled(
    run: LayerRun, name: TableName, begun: SeedProgress, definition: TableDefinition, **fields: Any
) -> Seed:
    """Return the seed of a table whose chunks are all written; `fields` are the other ones.

    Raises NotSeedableError if a chunk is missing.
    """
    folder = SeedFolder(run.lake, run.source, begun.id)
    parts = folder.parts(name, len(begun.chunks))
    paths = [f"{folder.rows}/{part}" for part in parts]
    staged = staged_schema(definition, run.settings.type_options)
    return Seed(
        id=begun.id,
        schema=name.schema,
        table=name.table,
        query=begun.query,
        first=(begun.file, begun.position),
        rows=run.session.read.schema(staged).parquet(*paths).count() if paths else 0,
        types=begun.types,
        parts=parts,
        **begun.log,
        **fields,
    )
