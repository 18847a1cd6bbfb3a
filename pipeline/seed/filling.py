"""Fill a seed's folder chunk by chunk, several in parallel; each chunk's job can be retried."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass

from pyspark.sql import DataFrame

from decoder import TableDefinition
from pipeline.catalog import TableName
from pipeline.errors import sentence_of
from pipeline.lake.starting import Spark, started
from pipeline.observe import Progress
from pipeline.seed.folder import Begun, SeedFolder
from pipeline.seed.source_table import NotSeedableError
from pipeline.settings import Settings
from pipeline.silver.plan.seeds import staged_schema

Read = Callable[[int], DataFrame]
"""Returns the rows of a chunk, given its number, in the staged schema."""


@dataclass(frozen=True)
class Filling:
    """Writes the chunks of seeds to the lake of `settings`."""

    spark: Spark
    settings: Settings
    progress: Progress

    def fill(self, name: TableName, begun: Begun, read: Read) -> SeedFolder:
        """Write every chunk that is not there yet. Raises NotSeedableError."""
        folder = SeedFolder(self.settings.layout, self.settings.source, begun.id)
        left = [n for n in range(len(begun.chunks)) if folder.done(n) is None]

        def put(number: int) -> None:
            rows = read(number).write.option("compression", "zstd")
            rows.parquet(folder.attempt(number))
            task.advance()

        tasks = self.progress.task(f"seed {name}", len(left), "chunks")
        with tasks as task, ThreadPoolExecutor(self.settings.seed.parallel) as pool:
            _all(name, [pool.submit(put, number) for number in left])
        return folder

    def count(self, folder: SeedFolder, parts: Sequence[str], definition: TableDefinition) -> int:
        """Return the number of rows in these parts of a folder."""
        staged = staged_schema(definition, self.settings.type_options)
        paths = [f"{folder.rows}/{part}" for part in parts]
        return started(self.spark).read.schema(staged).parquet(*paths).count()


def _all(name: TableName, chunks: list[Future[None]]) -> None:
    """Wait for all chunks; if one fails or the run is interrupted, only for those started."""
    try:
        for one in chunks:
            one.result()
    except Exception as error:  # errors from Java have no common Python class
        raise NotSeedableError(
            name,
            f"a chunk could not be read: {sentence_of(error)}",
            "Run it again: it resumes after the chunks already read.",
        ) from error
    finally:
        for one in chunks:
            one.cancel()
