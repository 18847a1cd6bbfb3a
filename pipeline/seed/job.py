"""The job of `binlake seed`: a server's tables, or a dump's, read into the lake.

spark-submit pipeline/seed/job.py --source NAME --lake DIR [--server URL] [--conf FILE]

Each table is by itself: what is wrong with one is told, and the others go on. Nothing here writes
to silver or gold: the next runs of these take what is whole (see
`pipeline.silver.plan.take_seeds`).
"""

from __future__ import annotations

import time
from collections.abc import Collection, Iterator, Sequence
from contextlib import contextmanager
from fnmatch import fnmatchcase
from functools import cached_property

from pipeline.bronze import read_files
from pipeline.catalog import TableName
from pipeline.catalog.timeline.definitions import read_items
from pipeline.gold import GoldState
from pipeline.lake import Ledger
from pipeline.lake.starting import Spark
from pipeline.observe import LayerReport, Progress
from pipeline.seed.chunked import ChunkedReader
from pipeline.seed.consistent import copied, snapshot
from pipeline.seed.errors import SeedError
from pipeline.seed.filling import Filling
from pipeline.seed.from_dump import DumpReader, opened
from pipeline.seed.jdbc import keeps_whole_values
from pipeline.seed.server import SourceServer, source_server
from pipeline.seed.source_table import SourceTable, asked_of, source_table
from pipeline.settings import Settings
from pipeline.silver.plan.seeds import Seed, ids_of, is_refused, put_seed, read_seed
from pipeline.source.logs.kept_statements import keep
from pipeline.source.server.create_statements import user_tables
from pipeline.spark.warm_kernels import warm_kernels

LAYER = "seed"
UNSHOWN = (
    "The server shows this account no table that is to be replicated: look at include, and at the"
    " account's grants (binlake check)."
)


def run(spark: Spark, settings: Settings, progress: Progress) -> LayerReport:
    """Seed the tables that settings name, or those that gold lacks: where that is none, Spark does
    not start. Raises ServerError, and DumpError for a dump that cannot be opened."""
    began = time.monotonic()
    warm_kernels(spark, progress)
    seeding = _Seeding(Filling(spark, settings, progress))
    if settings.seed.dump is not None:
        seeding.from_dump(settings.seed.dump)
    else:
        with source_server(settings) as server:
            seeding.from_server(server)
    return LayerReport(
        layer=LAYER,
        counts={"tables": len(seeding.seeds), "rows": sum(seed.rows for seed in seeding.seeds)},
        faults=tuple(seeding.faults),
        notes=(*map(_told, seeding.seeds), *seeding.notes),
        seconds=time.monotonic() - began,
    )


def _told(seed: Seed) -> str:
    first, last = (f"{file}:{position}" for file, position in (seed.first, seed.last))
    between = f"at {first}" if seed.exact else f"between {first} and {last}"
    return (
        f"{seed.name}: {seed.rows:,} rows of {between} of the log. Next: binlake run loads them,"
        " once the log up to there is ingested."
    )


def standing_still(state: GoldState, whole: Collection[TableName]) -> Iterator[str]:
    """Sentences about those of the tables, which gold has in full, with which it does not go on."""
    for name in sorted(whole):
        if reason := state.holds(state.tables[name]):
            yield (
                f"{name} stands still in gold, and is not seeded unless --table names it: {reason}"
            )


class _Seeding:
    """Seeds tables; keeps what was seeded, and sentences about what was not: `faults` about what
    failed, `notes` about what was left alone."""

    def __init__(self, filling: Filling) -> None:
        self.seeds: list[Seed] = []
        self.faults: list[str] = []
        self.notes: list[str] = []
        self._filling = filling
        self._settings = filling.settings

    def from_dump(self, location: str) -> None:
        """Tables of a dump."""
        dump = opened(self._settings)
        reader = DumpReader(self._filling, dump, location)
        tables = {TableName(table.schema, table.table): table for table in dump.tables}
        wanted = [name for name in tables if self._settings.wanted(name.schema, name.table)]
        for name in self._chosen(sorted(wanted)):
            with self._telling():
                self._keep(reader.seed(tables[name]))

    def from_server(self, server: SourceServer) -> None:
        """Tables of a server: by chunks, or at once where only rows of one moment will do."""
        found = [TableName(*n) for n in user_tables(server.connection, self._settings.wanted)]
        self.notes += [] if found else [UNSHOWN]
        names = self._chosen(found)
        if names or self.notes:
            # A table that stands still may be waiting for its definition.
            self._keep_statements(server)
        tables = [table for name in names for table in self._looked_up(server, name)]
        at_once = [table for table in tables if self._needs_one_moment(server, table)]
        chunked = ChunkedReader(self._filling, server)
        for table in tables:
            if table not in at_once:
                with self._telling(), asked_of(table.name):
                    self._keep(chunked.seed(table))
        if at_once:
            self._seed_at_once(server, at_once)

    def _keep_statements(self, server: SourceServer) -> None:
        """Let silver know the definitions of all tables: the log may not name their columns."""
        spark, lake, source = self._filling.spark, self._settings.layout, self._settings.source
        files = read_files(spark, lake, source)
        reading = server.create_statements(self._settings)
        keep(lake, source, [reading], files[0].begun if files else 0)

    def _chosen(self, found: list[TableName]) -> list[TableName]:
        """The tables to be seeded: those that are named, or those that gold lacks."""
        patterns = self._settings.seed.tables
        if patterns:
            return [name for name in found if any(fnmatchcase(str(name), p) for p in patterns)]
        lake, source = self._settings.layout, self._settings.source
        state = GoldState.of(Ledger(self._filling.spark, lake, source))
        whole = {name for name, table in state.tables.items() if table.complete}
        self.notes += standing_still(state, whole.intersection(found))
        return [name for name in found if name not in whole and not self._waits(name)]

    def _waits(self, name: TableName) -> bool:
        """Whether there is a seed of the table that gold is about to get."""
        lake, source = self._settings.layout, self._settings.source
        taken = self._taken.get(name)
        newer = [one for one in ids_of(lake, source, name) if taken is None or one > taken]
        last = next((one for one in reversed(newer) if read_seed(lake, source, one)), None)
        return last is not None and not is_refused(lake, source, last)

    @cached_property
    def _taken(self) -> dict[TableName, str]:
        """The last seed of each table that silver has taken."""
        settings = self._settings
        items = read_items(self._filling.spark, settings.layout, settings.source)
        return {item.name: item.seed.id for item in items if item.seed}

    def _looked_up(self, server: SourceServer, name: TableName) -> Iterator[SourceTable]:
        with self._telling(), asked_of(name):
            yield source_table(server.connection, server.version, name)

    def _needs_one_moment(self, server: SourceServer, table: SourceTable) -> bool:
        return (
            self._settings.seed.consistent
            or not table.definition.primary_key
            or not server.logs_whole_images
            or not keeps_whole_values(server.version)
        )

    def _seed_at_once(self, server: SourceServer, tables: Sequence[SourceTable]) -> None:
        options = self._settings.type_options
        seeding = self._filling.progress.task("seed at one moment", len(tables), "tables")
        with seeding as task, snapshot(server.login, server.version, options) as found:
            for table in tables:
                with self._telling(), asked_of(table.name):
                    # As it is now: others may have been read for hours.
                    anew = source_table(server.connection, server.version, table.name)
                    self._keep(copied(self._settings, server, found, anew))
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


if __name__ == "__main__":
    from pipeline.cli import main

    main("seed")
