"""The job of `binlake seed`: a server's tables, read into the lake as they are now.

Each table is by itself: what is wrong with one is told, and the others go on. Nothing here writes
to silver or gold: the next runs of these take what is whole (see `pipeline.silver.seeding`).
"""

from __future__ import annotations

import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from fnmatch import fnmatchcase

from pyspark.sql import SparkSession

from pipeline.catalog.effects import TableName
from pipeline.gold.state import GoldState
from pipeline.kernels import warm_kernels
from pipeline.ledger import Ledger
from pipeline.progress import Progress
from pipeline.report import LayerReport
from pipeline.seed.chunked import ChunkedReader
from pipeline.seed.consistent import copied, snapshot
from pipeline.seed.errors import SeedError
from pipeline.seed.server import SourceServer, source_server
from pipeline.seed.source_table import SourceTable, source_table, table_names
from pipeline.settings import Settings
from pipeline.silver.seeds import Seed, ids_of, put_seed, read_seed

LAYER = "seed"


def run(spark: SparkSession, settings: Settings, progress: Progress) -> LayerReport:
    """Seed the tables that settings name, or those that gold lacks. Raises ServerError."""
    started = time.monotonic()
    warm_kernels(spark, progress)
    with source_server(settings) as server:
        seeding = _Seeding(spark, settings, server, progress)
        seeding.seed(_chosen(spark, settings, server))
    return LayerReport(
        layer=LAYER,
        counts={"tables": len(seeding.seeds), "rows": sum(seed.rows for seed in seeding.seeds)},
        faults=tuple(seeding.faults),
        notes=tuple(map(_told, seeding.seeds)),
        seconds=time.monotonic() - started,
    )


def _told(seed: Seed) -> str:
    first, last = (f"{file}:{position}" for file, position in (seed.first, seed.last))
    between = f"at {first}" if seed.exact else f"between {first} and {last}"
    return (
        f"{seed.name}: {seed.rows:,} rows of {between} of the log. Silver takes them once it has"
        " come there, and gold then."
    )


def _chosen(spark: SparkSession, settings: Settings, server: SourceServer) -> list[TableName]:
    """The tables to be seeded, in order of names."""
    found = list(table_names(server.connection, settings.wanted))
    patterns = settings.seed.tables
    if patterns:
        return [name for name in found if any(fnmatchcase(str(name), p) for p in patterns)]
    lake, source = settings.layout, settings.source
    state = GoldState.of(Ledger(spark, lake, source))
    whole = {name for name, table in state.tables.items() if table.complete}
    return [name for name in found if name not in whole and not _waits(settings, name)]


def _waits(settings: Settings, name: TableName) -> bool:
    """Whether there is a seed of the table that gold may be about to get."""
    lake, source = settings.layout, settings.source
    return any(read_seed(lake, source, one) for one in ids_of(lake, source, name)[-1:])


class _Seeding:
    """Seeds tables; keeps what was seeded, and sentences about what was not."""

    def __init__(
        self, spark: SparkSession, settings: Settings, server: SourceServer, progress: Progress
    ) -> None:
        self.seeds: list[Seed] = []
        self.faults: list[str] = []
        self._settings = settings
        self._server = server
        self._progress = progress
        self._chunked = ChunkedReader(spark, settings, server, progress)

    def seed(self, names: Sequence[TableName]) -> None:
        """All of them: by chunks, or at once where only rows of one moment will do."""
        tables = [table for name in names for table in self._looked_up(name)]
        at_once = [table for table in tables if self._needs_one_moment(table)]
        for table in tables:
            if table not in at_once:
                with self._telling():
                    self._keep(self._chunked.seed(table))
        if at_once:
            self._seed_at_once(at_once)

    def _looked_up(self, name: TableName) -> Iterator[SourceTable]:
        with self._telling():
            yield source_table(self._server.connection, self._server.version, name)

    def _needs_one_moment(self, table: SourceTable) -> bool:
        return (
            self._settings.seed.consistent
            or not table.definition.primary_key
            or not self._server.logs_whole_images
        )

    def _seed_at_once(self, tables: Sequence[SourceTable]) -> None:
        options = self._settings.type_options
        task = self._progress.task("seed at one moment", len(tables), "tables")
        with task, snapshot(self._server.login, self._server.version, options) as found:
            for table in tables:
                with self._telling():
                    self._keep(copied(self._settings, self._server, found, table))
                task.advance()

    @contextmanager
    def _telling(self) -> Iterator[None]:
        """What is wrong with one table is told; the others go on."""
        try:
            yield
        except SeedError as error:
            self.faults.append(str(error))

    def _keep(self, seed: Seed) -> None:
        put_seed(self._settings.layout, self._settings.source, seed)
        self.seeds.append(seed)
