"""Reading a table by chunks of its key, several at once, while others write to it.

The chunks are of different moments, all of them behind the place that is asked for before the first
one and before the one that is asked for after the last.
"""

from __future__ import annotations

from collections.abc import Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass

from pyspark.sql import SparkSession

from pipeline.errors import sentence_of
from pipeline.progress import Progress
from pipeline.seed.chunks import chunks
from pipeline.seed.folder import Begun, SeedFolder, begun_now, under_way
from pipeline.seed.jdbc import JdbcSource, require_connector, typed
from pipeline.seed.server import SourceServer
from pipeline.seed.source_table import NotSeedableError, SourceTable, create_table
from pipeline.settings import Settings
from pipeline.silver.seeds import Seed, staged_schema


@dataclass(frozen=True)
class ChunkedReader:
    """Reads tables of a server through Spark's JDBC source."""

    spark: SparkSession
    settings: Settings
    server: SourceServer
    progress: Progress

    def seed(self, table: SourceTable) -> Seed:
        """Read a table, or the rest of one that was begun a short while ago.

        Raises NotSeedableError, ServerError and SettingsError.
        """
        require_connector(self.spark)
        source = JdbcSource(self.server.login, self.server.version, self.server.over_tls)
        begun = self._begun(table)
        folder = SeedFolder(self.settings.layout, self.settings.source, begun.id)
        left = [n for n in range(len(begun.chunks)) if not folder.is_done(n)]
        task = self.progress.task(f"seed {table.name}", len(left), "chunks")

        def read(number: int) -> None:
            cells = source.read(self.spark, table.select(begun.chunks[number]))
            rows = typed(cells, table.definition, self.settings.type_options)
            rows.write.mode("overwrite").option("compression", "zstd").parquet(folder.chunk(number))
            task.advance()

        with task, ThreadPoolExecutor(self.settings.seed.parallel) as pool:
            self._all(table, [pool.submit(read, number) for number in left])
        return self._whole(table, begun, folder)

    def _all(self, table: SourceTable, reads: Sequence[Future[None]]) -> None:
        """Wait for all chunks; where one fails, for those only that have begun."""
        try:
            for one in reads:
                one.result()
        except Exception as error:  # Java's own are of no class that Python knows
            for one in reads:
                one.cancel()
            raise NotSeedableError(
                table.name,
                f"a chunk could not be read: {sentence_of(error)}",
                "Run it again: chunks that are done are not read again.",
            ) from error

    def _begun(self, table: SourceTable) -> Begun:
        """What is gone on with, or begun now: chunks first, then the place that is before them."""
        lake, source = self.settings.layout, self.settings.source
        types = self.settings.decoding["types"]
        for begun in under_way(lake, source, table.name):
            same = (begun.server, begun.query, begun.types)
            if same == (self.server.id, table.query, types):
                return begun
        parts = chunks(self.server.connection, table, self.settings.seed.chunk_rows)
        place = self.server.places.settled()
        begun = begun_now(table.name, self.server.id, table.query, place, parts, types)
        SeedFolder(lake, source, begun.id).begin(begun)
        return begun

    def _whole(self, table: SourceTable, begun: Begun, folder: SeedFolder) -> Seed:
        """The seed, once nothing of it is left to be read."""
        last = self.server.places.end()
        if create_table(self.server.connection, table.name) != begun.query:
            folder.remove()
            raise NotSeedableError(table.name, "it was altered meanwhile", "Run it again.")
        staged = staged_schema(table.definition, self.settings.type_options)
        rows = self.spark.read.schema(staged).option("recursiveFileLookup", "true")
        return Seed(
            id=begun.id,
            schema=table.name.schema,
            table=table.name.table,
            query=begun.query,
            first=(begun.file, begun.position),
            last=last,
            exact=False,
            rows=rows.parquet(folder.rows).count(),
            server=self.server.version.text,
            types=begun.types,
            cascades_logged=self.server.logs_cascades,
        )
