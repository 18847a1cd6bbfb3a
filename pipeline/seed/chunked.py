"""Read a table in chunks of its key, several in parallel, while it is being written to.

The chunks are read at different moments. Their rows are all from between two log positions: the one
read before the first chunk, and the one read after the last.
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
    """Reader of a server's tables through Spark's JDBC source."""

    filling: Filling
    server: SourceServer

    def seed(self, table: SourceTable) -> Seed:
        """Read a table, or resume a recent attempt that did not finish.

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
        """Return the attempt to resume, or start one: split the table, then read the position."""
        settings, server = self.filling.settings, self.server
        lake, source, types = settings.layout, settings.source, settings.decoding["types"]
        same = {"origin": server.id, "query": table.query, "types": types}
        if begun := under_way(lake, source, table.name, **same):
            return begun
        parts = chunks(server.connection, table, settings.seed.chunk_rows)
        # Read in this order: the GTIDs are executed before the position, and the log file exists
        # before its time is asked for.
        gtids = server.places.executed()
        place = server.places.settled()
        log = {**server.places.log_identity(), "gtids": gtids}
        begun = begun_now(table.name, server.id, table.query, place, parts, types, log)
        SeedFolder(lake, source, begun.id).begin(begun)
        return begun

    def _whole(self, table: SourceTable, begun: Begun, folder: SeedFolder) -> Seed:
        """Return the seed once all its chunks are read. Raises NotSeedableError."""
        name, last = table.name, self.server.places.end()
        if create_statement(self.server.connection, name.schema, name.table) != begun.query:
            folder.remove()
            raise NotSeedableError(name, "it was altered while it was read", "Seed it again.")
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
