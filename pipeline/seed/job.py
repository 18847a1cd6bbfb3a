"""The job of `binlake seed`: read a server's or a dump's tables into the lake.

spark-submit pipeline/seed/job.py --source NAME --lake DIR [--server URL] [--conf FILE]

Tables are independent: an error with one is reported and the others are still seeded. Nothing here
writes to silver or gold; their next runs load the complete seeds (see
`pipeline.silver.plan.take_seeds`).
"""

from __future__ import annotations

import time
from collections.abc import Collection, Iterator, Sequence
from contextlib import contextmanager
from functools import cached_property

from pipeline.bronze import read_files
from pipeline.gold import GoldState
from pipeline.lake.lazy_spark import Spark
from pipeline.layer import LayerRun
from pipeline.observe import LayerReport, Progress
from pipeline.schema_history import TableName
from pipeline.schema_history.timeline.stored_timeline import read_items
from pipeline.seed.chunks import read_in_chunks
from pipeline.seed.consistent import copy_table, snapshot
from pipeline.seed.errors import SeedError
from pipeline.seed.from_dump import open_configured_dump, read_dumped
from pipeline.seed.jdbc import returns_values_unchanged
from pipeline.seed.server import SourceServer, source_server
from pipeline.seed.source_table import SourceTable, source_table, table_errors
from pipeline.settings import Settings
from pipeline.settings.settings import matches
from pipeline.silver.plan.stored_seeds import Seed, ids_of, is_refused, put_seed, read_seed
from pipeline.source.logs.kept_statements import keep
from pipeline.source.server.create_statements import user_tables
from pipeline.spark.warm_kernels import warm_kernels

LAYER = "seed"
UNSHOWN = (
    "The account sees no table to replicate on the server: check the include setting and the"
    " account's grants (binlake check)."
)


def run(spark: Spark, settings: Settings, progress: Progress) -> LayerReport:
    """Seed the tables in `seed.tables`, or all that gold does not have in full.

    Spark does not start if there is nothing to seed. Raises ServerError, and DumpError if the dump
    cannot be opened; errors of single tables are the report's faults.
    """
    began = time.monotonic()
    seeding = _Seeding(LayerRun.begin(spark, settings, progress))
    if settings.seed.dump is not None:
        seeding.from_dump(settings.seed.dump)
    else:
        with source_server(settings) as server:
            seeding.from_server(server)
    return LayerReport(
        layer=LAYER,
        counts={"tables": len(seeding.seeds), "rows": sum(seed.rows for seed in seeding.seeds)},
        faults=tuple(seeding.faults),
        notes=(*map(_summary, seeding.seeds), *seeding.notes),
        seconds=time.monotonic() - began,
    )


def _summary(seed: Seed) -> str:
    first, last = (f"{file}:{position}" for file, position in (seed.first, seed.last))
    between = f"at {first}" if seed.exact else f"between {first} and {last}"
    return (
        f"{seed.name}: {seed.rows:,} rows, read {between} in the log. Next: binlake run loads them"
        " once the log up to that position is ingested."
    )


def held_in_gold(state: GoldState, complete: Collection[TableName]) -> Iterator[str]:
    """Yield a note for each of these complete gold tables that is held."""
    for name in sorted(complete):
        if reason := state.holds(state.tables[name]):
            yield f"{name} is held in gold, and is seeded only if --table names it: {reason}"


class _Seeding:
    """The seeding of tables.

    `seeds`: those taken. `faults`: messages about tables that failed. `notes`: messages about
    tables that were skipped.
    """

    def __init__(self, run: LayerRun) -> None:
        self.seeds: list[Seed] = []
        self.faults: list[str] = []
        self.notes: list[str] = []
        self._run = run
        self._settings = run.settings

    def from_dump(self, location: str) -> None:
        """Seed tables from a dump."""
        dump = open_configured_dump(self._settings)
        tables = {TableName(table.schema, table.table): table for table in dump.tables}
        wanted = [name for name in tables if self._settings.wanted(name.schema, name.table)]
        names = self._chosen(sorted(wanted))
        self._warm_kernels(names)
        for name in names:
            with self._collecting_faults():
                self._keep(read_dumped(self._run, dump, location, tables[name]))

    def from_server(self, server: SourceServer) -> None:
        """Seed tables from a server: in chunks, or in one snapshot where a table requires it."""
        found = [TableName(*n) for n in user_tables(server.connection, self._settings.wanted)]
        self.notes += [] if found else [UNSHOWN]
        names = self._chosen(found)
        if names or self.notes:
            # A held table may be waiting for its definition.
            self._keep_statements(server)
        self._warm_kernels(names)
        tables = [table for name in names for table in self._looked_up(server, name)]
        in_snapshot = [table for table in tables if self._needs_snapshot(server, table)]
        for table in tables:
            if table not in in_snapshot:
                with self._collecting_faults(), table_errors(table.name):
                    self._keep(read_in_chunks(self._run, server, table))
        if in_snapshot:
            self._seed_in_snapshot(server, in_snapshot)

    def _warm_kernels(self, names: Collection[TableName]) -> None:
        """Compile the decoder if there are tables to read; only now, since the server or the dump
        may have been refused."""
        if names:
            warm_kernels(self._run.spark, self._run.progress)

    def _keep_statements(self, server: SourceServer) -> None:
        """Store all tables' definitions for silver: the log may not have the columns' names."""
        run = self._run
        files = read_files(run.spark, run.lake, run.source)
        reading = server.create_statements(self._settings)
        keep(run.lake, run.source, [reading], files[0].begun if files else 0)

    def _chosen(self, found: list[TableName]) -> list[TableName]:
        """Return the tables to seed: those in `seed.tables`, or those that gold lacks."""
        patterns = self._settings.seed.tables
        if patterns:
            return [name for name in found if matches(name, patterns)]
        state = GoldState.of(self._run.ledger)
        complete = {name for name, table in state.tables.items() if table.complete}
        self.notes += held_in_gold(state, complete.intersection(found))
        return [name for name in found if name not in complete and not self._waits(name)]

    def _waits(self, name: TableName) -> bool:
        """Return True if the table has a complete seed that gold has yet to load."""
        lake, source = self._run.lake, self._run.source
        taken = self._taken.get(name)
        newer = [one for one in ids_of(lake, source, name) if taken is None or one > taken]
        last = next((one for one in reversed(newer) if read_seed(lake, source, one)), None)
        return last is not None and not is_refused(lake, source, last)

    @cached_property
    def _taken(self) -> dict[TableName, str]:
        """The id of the latest seed of each table that silver has taken."""
        items = read_items(self._run.spark, self._run.lake, self._run.source)
        return {item.name: item.seed.id for item in items if item.seed}

    def _looked_up(self, server: SourceServer, name: TableName) -> Iterator[SourceTable]:
        with self._collecting_faults(), table_errors(name):
            yield source_table(server.connection, server.version, name)

    def _needs_snapshot(self, server: SourceServer, table: SourceTable) -> bool:
        return (
            self._settings.seed.consistent
            or not table.definition.primary_key
            or not server.logs_whole_images
            or not returns_values_unchanged(server.version)
        )

    def _seed_in_snapshot(self, server: SourceServer, tables: Sequence[SourceTable]) -> None:
        seeding = self._run.progress.task("seeding in one snapshot", len(tables), "tables")
        with seeding as task, snapshot(server.login, server.version) as found:
            for table in tables:
                with self._collecting_faults(), table_errors(table.name):
                    # Look it up again: reading the other tables may have taken hours.
                    current = source_table(server.connection, server.version, table.name)
                    self._keep(copy_table(self._run, server, found, current))
                task.advance()

    @contextmanager
    def _collecting_faults(self) -> Iterator[None]:
        """Add a SeedError to `faults`, so that the next tables are still seeded."""
        try:
            yield
        except SeedError as error:
            self.faults.append(str(error))

    def _keep(self, seed: Seed) -> None:
        put_seed(self._run.lake, self._run.source, seed)
        self.seeds.append(seed)


if __name__ == "__main__":
    from pipeline.cli import main

    main("seed")
