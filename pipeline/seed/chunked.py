"""Reading a table by chunks of its key, several at once, while others write to it.

The chunks are of different moments, all of them behind the place that is asked for before the first
one and before the one that is asked for after the last.
"""

from __future__ import annotations

from dataclasses import dataclass

from pyspark.sql import DataFrame

from pipeline.lake.starting import started
from pipeline.seed.chunks import chunks
from pipeline.seed.filling import Filling
from pipeline.seed.folder import Begun, SeedFolder, begun_now, under_way
from pipeline.seed.jdbc import JdbcSource, require_connector, typed
from pipeline.seed.server import SourceServer
from pipeline.seed.source_table import NotSeedableError, SourceTable
from pipeline.silver.plan.seeds import Seed
from pipeline.source.server.create_statements import create_statement


@dataclass(frozen=True)
class ChunkedReader:
    """Reads tables of a server through Spark's JDBC source."""

    filling: Filling
    server: SourceServer

    def seed(self, table: SourceTable) -> Seed:
        """Read a table, or the rest of one that was begun a short while ago.

        Raises NotSeedableError, ServerError and SettingsError.
        """
        filling, server = self.filling, self.server
        spark = started(filling.spark)
        require_connector(spark)
        source = JdbcSource(server.login, server.version, server.over_tls)
        begun = self._begun(table)

        def read(number: int) -> DataFrame:
            cells = source.read(spark, table.select(begun.chunks[number]), table.row_bytes)
            return typed(cells, table.definition, filling.settings.type_options)

        return self._whole(table, begun, filling.fill(table.name, begun, read))

    def _begun(self, table: SourceTable) -> Begun:
        """What is gone on with, or begun now: chunks first, then the place that is before them."""
        settings, server = self.filling.settings, self.server
        lake, source, types = settings.layout, settings.source, settings.decoding["types"]
        same = {"origin": server.id, "query": table.query, "types": types}
        if begun := under_way(lake, source, table.name, **same):
            return begun
        parts = chunks(server.connection, table, settings.seed.chunk_rows)
        # What is executed is before the place, and the file is there before the time is asked.
        gtids = server.places.executed()
        place = server.places.settled()
        log = {**server.places.log_now(), "gtids": gtids}
        begun = begun_now(table.name, server.id, table.query, place, parts, types, log)
        SeedFolder(lake, source, begun.id).begin(begun)
        return begun

    def _whole(self, table: SourceTable, begun: Begun, folder: SeedFolder) -> Seed:
        """The seed, once nothing of it is left to be read. Raises NotSeedableError."""
        name, last = table.name, self.server.places.end()
        if create_statement(self.server.connection, name.schema, name.table) != begun.query:
            folder.remove()
            raise NotSeedableError(name, "it was altered meanwhile", "Run it again.")
        parts = folder.parts(table.name, len(begun.chunks))
        return Seed(
            id=begun.id,
            schema=table.name.schema,
            table=table.name.table,
            query=begun.query,
            first=(begun.file, begun.position),
            last=last,
            exact=False,
            rows=self.filling.count(folder, parts, table.definition),
            server=self.server.version.text,
            types=begun.types,
            cascades_logged=self.server.logs_cascades,
            parts=parts,
            **begun.log,
        )
